"""Packs an image folder into shards, streams them, trains a small CNN, prints one table.

python examples/train.py                 # scikit-learn's 1,797 scanned digits
python examples/train.py --data photos   # your own: one sub-folder a class
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

import forebay as fb


def write_digits(folder: Path) -> Path:
    """The digits as PNG files in class folders."""
    from PIL import Image
    from sklearn.datasets import load_digits

    digits = load_digits()
    for i, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        path = folder / str(label) / f"{i:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels * 15.9375).astype("uint8")).save(path)
    return folder


def split(source: Path, target: Path) -> None:
    """Links every fifth file of each class into target/test, the others into target/train."""
    for folder in sorted(p for p in source.iterdir() if p.is_dir() and p.name[0] != "."):
        files = sorted(p for p in folder.iterdir() if p.name[0] != ".")
        if len(files) < 2:
            # Each class is in both parts, so that its number is the same in both.
            sys.exit(f"train.py: class {folder.name!r} has {len(files)} files: give it 2 or more")
        for i, file in enumerate(files):
            link = target / ("test" if i % 5 == 0 else "train") / folder.name / file.name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file.resolve())


def network(channels: int, classes: int) -> nn.Module:
    def block(a: int, b: int) -> list[nn.Module]:
        return [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU()]

    layers = [*block(channels, 32), *block(32, 64), nn.MaxPool2d(2), *block(64, 64)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, classes))


def train(shards: Path, format: str, args: argparse.Namespace) -> dict[str, float | str]:
    image = fb.Image(
        fb.transforms.Resize((args.size, args.size)), color=args.color, dtype="float32"
    )

    def loader(part: str, **options: object) -> fb.DataLoader:
        dataset = fb.open_dataset(shards / f"{part}-{format}", columns=["image", "label"])
        return fb.DataLoader(dataset, 64, decode={"image": image}, memory=args.memory, **options)

    batches, held_out = loader("train", shuffle=True, seed=args.seed), loader("test")
    torch.manual_seed(args.seed)
    classes = len(batches.dataset.schema["label"].classes)
    model = network(1 if args.color == "L" else 3, classes)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, args.epochs * len(batches))
    for _ in range(args.epochs):
        for images, labels in batches:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        right = sum(int((model(x).argmax(1) == y).sum()) for x, y in held_out)
    stats = batches.stats()
    return {
        "format": format,
        "samples/s": stats.samples_per_s,
        "stalled": stats.stall_share,
        "bytes read": stats.bytes_read,
        "epochs": stats.epochs,
        "accuracy": right / len(held_out.dataset),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with one sub-folder of images a class")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--size", type=int, help="pixels of a side (8 for the digits, else 64)")
    parser.add_argument("--memory", default="256MB", help="bytes that the loader may hold")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args()
    args.color, args.size = ("RGB", args.size or 64) if args.data else ("L", args.size or 8)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        split(args.data or write_digits(work / "digits"), work)
        for format in ("parquet", "recordio"):
            for part in ("train", "test"):
                pack = [sys.executable, "-m", "forebay.tools", "pack", "--format", format]
                target = work / f"{part}-{format}"
                quiet = subprocess.DEVNULL if args.json else None
                subprocess.run([*pack, str(work / part), str(target)], check=True, stdout=quiet)
        rows = []
        for format in ("parquet", "recordio"):
            print(f"training from {format} shards, {args.epochs} epochs ...", file=sys.stderr)
            rows.append(train(work, format, args))
    if args.json:
        print(json.dumps(rows))
        return
    table = Table(*rows[0], title="trained from shards")
    for r in rows:
        table.add_row(
            r["format"], f"{r['samples/s']:,.0f}", f"{r['stalled']:.1%}", f"{r['bytes read']:,}",
            str(r["epochs"]), f"{r['accuracy']:.4f}",
        )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
