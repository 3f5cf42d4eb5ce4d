"""What an installation holds: forebay alone, typed, and no bare folder name."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ["benchmarks", "cost", "dataloader", "formats", "kernels", "telemetry", "tools"]


def run_elsewhere(code, cwd):
    """Runs code in a fresh interpreter whose path holds neither this tree nor the cwd."""
    return subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_folder_is_a_relative_link(folder):
    link = ROOT / "src" / "forebay" / folder
    if not link.is_symlink():
        pytest.skip("a source distribution holds copies in place of links")
    assert link.readlink() == Path("..", "..", folder)
    assert (link / "__init__.py").is_file()


def test_folders_are_importable_below_forebay_alone(tmp_path):
    code = f"""
import importlib, importlib.util
for name in {FOLDERS}:
    importlib.import_module("forebay." + name)
    spec = importlib.util.find_spec(name)
    assert spec is None or not str(spec.origin).startswith({str(ROOT)!r}), (name, spec)
"""
    done = run_elsewhere(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder", ["kernels", "formats", "dataloader", "telemetry", "cost"])
def test_no_bare_name(folder, tmp_path):
    done = run_elsewhere(f"import {folder}", tmp_path)
    assert "ModuleNotFoundError" in done.stderr


def test_kernels_package_does_not_import_numba(tmp_path):
    code = "import sys, forebay.kernels, forebay.kernels.crc; assert 'numba' not in sys.modules"
    done = run_elsewhere(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_wheel_holds_every_package_and_its_data(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "-w", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    expected = {"forebay/py.typed"}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT)
            if "peers" in inside.parts or not (path.parent / "__init__.py").is_file():
                continue
            if path.suffix in {".py", ".pyi", ".md"}:
                expected.add(f"forebay/{inside.as_posix()}")
    assert expected <= held, sorted(expected - held)
    assert any(name.startswith("forebay/kernels/_native.") and ".pyi" not in name for name in held)
    tops = {name.split("/")[0] for name in held}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"forebay"}
    leftovers = (".cpp", ".hpp", ".nbi", ".nbc", ".pyc")
    assert not [name for name in held if name.endswith(leftovers) or "/peers/" in name]


@pytest.mark.long
def test_installs_and_works_without_jpeg_headers(tmp_path):
    tree, home = tmp_path / "tree", tmp_path / "home"
    ignored = shutil.ignore_patterns(".*", "build", "*.so", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, tree, symlinks=True, ignore=ignored)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    # Everything but forebay itself comes from the environment that runs this test.
    (site,) = (home / "lib").glob("python*/site-packages")
    (site / "around.pth").write_text(sysconfig.get_path("purelib"))
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-v", "--no-deps"]
    done = subprocess.run(
        [*command, "--no-build-isolation", "--prefix", home, "--ignore-installed", tree],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"CMAKE_ARGS": "-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    log = done.stdout + done.stderr
    assert "libjpeg-turbo headers not found: building without native JPEG" in log, log
    code = """
import io, sys, forebay as fb, PIL.Image
assert fb.__file__.startswith(sys.prefix), fb.__file__
file = io.BytesIO()
PIL.Image.new("RGB", (20, 30), "red").save(file, "jpeg")
fb.write_dataset("red", [{"image": file.getvalue()}], {"image": "jpeg"})
decode = {"image": fb.Image(fb.transforms.CenterCrop(8))}
(batch,) = fb.DataLoader(fb.open_dataset("red", columns=["image"]), decode=decode)
assert batch[0].shape == (1, 3, 8, 8) and batch[0][0, 0].min() > 250
"""
    used = subprocess.run(
        [python, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert used.returncode == 0, used.stderr
    code = """
import os, sys, PIL.Image
os.makedirs("s", exist_ok=True)
PIL.Image.new("RGB", (20, 30), "red").save("s/red.jpg")
sys.argv[1:1] = ["pack", "s", "d"]
from forebay.tools.main import main
main()
"""
    for arguments, status, said in (
        (["--images", "seekable"], 2, "libjpeg62-turbo-dev"),
        ([], 0, "images are kept as they are"),
    ):
        used = subprocess.run(
            [python, "-I", "-c", code, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert used.returncode == status, used.stdout + used.stderr
        assert said in used.stdout + used.stderr


def test_extras_and_command_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) >= {"dali", "dali-cuda12", "dali-cuda13", "test"}
    assert project["scripts"] == {"forebay": "forebay.tools.main:main"}
