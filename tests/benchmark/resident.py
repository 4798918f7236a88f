"""A process's resident memory: how much, whether it grows, and a picture of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SAMPLE_S = 15
"""Between two samples."""
LAST_MINUTES = 20
"""What growth is judged by: the time before is for warming up."""


def resident_mib(process_id: int) -> float:
    """Of a running process."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 2)


def growth_kib_per_minute(samples_mib: list[float]) -> dict[str, float]:
    """A line fitted to the last samples: its slope, the slope's standard error, and that of the last half alone.

    Growth that levels off has a smaller slope in the last half. Empty if there are too few samples.
    """
    last = samples_mib[-LAST_MINUTES * 60 // SAMPLE_S :]
    half = last[len(last) // 2 :]
    if len(half) < 4:
        return {}
    (slope, error), (later, its_error) = _slope(last), _slope(half)
    return {"slope": slope, "error": error, "slope_of_last_half": later, "its_error": its_error}


def plot(samples_mib: list[float], path: str) -> None:
    """Resident memory over time."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    minutes = [SAMPLE_S / 60 * index for index in range(len(samples_mib))]
    figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    axes.plot(minutes, samples_mib)
    axes.set(xlabel="minutes", ylabel="resident memory, MiB", ylim=(0, 1.2 * max(samples_mib)))
    figure.savefig(path, dpi=80)


def _slope(samples_mib: list[float]) -> tuple[float, float]:
    """KiB a minute, and its standard error."""
    minutes = np.arange(len(samples_mib)) * SAMPLE_S / 60
    (slope, _), covariance = np.polyfit(minutes, np.array(samples_mib) * 1024, 1, cov=True)
    return round(float(slope), 2), round(float(covariance[0, 0] ** 0.5), 2)
