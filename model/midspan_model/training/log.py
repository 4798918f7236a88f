"""The log of a run: a CSV file, and its curves as a picture."""

from __future__ import annotations

import csv
from pathlib import Path

COLUMNS: tuple[str, ...] = (
    "step",
    "samples",
    "elapsed_s",
    "learning_rate",
    "loss",
    "gradient_norm",
    "heldout_loss",
    "heldout_right",
    "heldout_first_right",
    "heldout_typed_right",
    "heldout_ahead_right",
    "heldout_sure",
    "heldout_sure_right",
)
_PANELS = (
    ("loss", ("loss", "heldout_loss")),
    (
        "right, of held-out slots",
        ("heldout_typed_right", "heldout_first_right", "heldout_ahead_right", "heldout_right"),
    ),
    ("share of held-out slots", ("heldout_sure", "heldout_sure_right")),
)


class TrainLog:
    """Rows of a CSV file that grows; cells that were not measured stay empty.

    Args:
        folder: where `log.csv` and `log.png` lie.
    """

    def __init__(self, folder: Path) -> None:
        self.csv, self.png = folder / "log.csv", folder / "log.png"

    def rewind(self, step: int) -> None:
        """Drop the rows behind a step: a run that was killed repeats them."""
        kept = [row for row in self.rows() if int(row["step"]) <= step]
        part = self.csv.with_suffix(".csv.part")
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(kept)
        part.replace(self.csv)

    def add(self, **cells: float) -> None:
        """Append a row."""
        with self.csv.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, COLUMNS).writerow(cells)

    def rows(self) -> list[dict[str, str]]:
        """All rows, in the order they were written."""
        if not self.csv.exists():
            return []
        with self.csv.open(newline="", encoding="utf-8") as file:
            return [row for row in csv.DictReader(file) if None not in row.values()]  # a kill may halve the last one

    def draw(self) -> bool:
        """Write the curves; whether matplotlib is there to do it."""
        try:
            from matplotlib.figure import Figure  # noqa: PLC0415  (only where a picture is drawn)
        except ImportError:
            return False
        rows = self.rows()
        figure = Figure(figsize=(9, 7), layout="constrained")
        panels = figure.subplots(len(_PANELS), 1, sharex=True)
        for axes, (title, names) in zip(panels, _PANELS, strict=True):
            for name in names:
                points = [(int(row["step"]), float(row[name])) for row in rows if row[name]]
                axes.plot(*zip(*points, strict=True) if points else ((), ()), label=name.replace("_", " "))
            axes.set_ylabel(title)
            axes.legend()
            axes.grid(visible=True, alpha=0.3)
        panels[-1].set_xlabel("step")
        figure.savefig(self.png, dpi=110)
        return True
