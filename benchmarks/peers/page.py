"""placeholder"""

from pathlib import Path


def refresh(place: Path) -> None: ...
