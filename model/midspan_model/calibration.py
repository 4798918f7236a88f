"""From how sure the model is to how likely the middle is right: a logistic model over a handful of features.

Its weights are fitted on repositories that neither training nor measuring sees (`evaluation/calibrate.py`) and lie
beside the adapter. Platt (1999), with more than one feature.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from midspan_model.errors import WeightsError

Features = Mapping[str, float]
"""By name; `FEATURES` tells what they are."""

FEATURES = {
    "log_confidence": "log of the middle's probability, its end included",
    "confidence": "that probability itself",
    "typed_log_confidence": "its log again, where it is what the model types; else 0",
    "log_least": "log of its least likely token's probability",
    "log_length": "log of the number of its tokens",
    "in_word": "the cursor stands behind a letter or digit",
    "at_line_start": "only white space stands before the cursor on its line",
    "in_line": "something stands behind the cursor on its line",
    "several_lines": "more than one line is wanted",
    "python": "the language is Python",
    "typed": "it is what the model types",
    "proposed": "it was proposed from elsewhere",
    "proposed_odds": "log odds of its being right, as its source has it; 0 where it was not proposed",
    "rival_odds": "the same of the best other proposal",
    "behind": "log probability of the text behind it, less that of the best candidate; 0 if it was not read on from",
}
BEHIND = "behind"
_SMALLEST_LOG = -20.0
_LONGEST = 64
_N_GRID = 400


@dataclass(frozen=True)
class Calibrator:
    """Weights of the features.

    Attributes:
        bias: added to their sum.
        weights: by feature.
        fitted_on: repositories and number of holes, for people.
        adapter_sha256: of the adapter whose confidences these are.
        read_on: what takes its place for middles that were read on from (`reading_on.py`).
    """

    bias: float
    weights: dict[str, float]
    fitted_on: str = ""
    adapter_sha256: str = ""
    read_on: Calibrator | None = None

    def probability(self, features: Features) -> float:
        """Probability that the middle is exactly right, 0 to 1."""
        return 1 / (1 + math.exp(-max(-500.0, self._score(features))))

    def least_confidence(self, probability: float, place: Features) -> float:
        """A confidence below which no middle at this place has that probability: typing may stop there.

        Args:
            probability: that is wanted, 0 to 1.
            place: features that do not depend on the middle.
        """
        if not 0 < probability < 1:
            return 0.0 if probability <= 0 else 1.0
        wanted = math.log(probability / (1 - probability)) - self._score(place)
        # at best the least likely token is certain, or as unlikely as all together, and the length what helps most
        length = max(0.0, self.weights.get("log_length", 0.0)) * math.log(_LONGEST)
        least = min(0.0, self.weights.get("log_least", 0.0))
        slope = self.weights.get("log_confidence", 0.0) + self.weights.get("typed_log_confidence", 0.0) + least
        below = 0.0
        for step in range(_N_GRID + 1):
            log = _SMALLEST_LOG * (1 - step / _N_GRID)
            curved = max(self.weights.get("confidence", 0.0) * end for end in (below, math.exp(log)))
            # the best between this point of the grid and the one before
            before = _SMALLEST_LOG * (1 - max(0, step - 1) / _N_GRID)
            if max(slope * log, slope * before) + curved + length >= wanted:
                return below
            below = math.exp(log)
        return 1.0

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Calibrator:
        """Read what `save` wrote.

        Raises:
            WeightsError: the file is missing or of another form.
        """
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            found = cls(**{**fields, "read_on": cls(**fields["read_on"]) if fields.get("read_on") else None})
            for one in filter(None, (found, found.read_on)):
                if not one.weights.keys() <= FEATURES.keys():
                    raise WeightsError(f"{path.name} has features that this version does not know")
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise WeightsError(f"{path} cannot be read: {error}") from error
        return found

    def _score(self, features: Features) -> float:
        return self.bias + sum(weight * features.get(name, 0.0) for name, weight in self.weights.items())


def features_of_place(prefix: str, suffix: str, max_lines: int, language_id: str) -> dict[str, float]:
    """What is known before there is a middle."""
    line = prefix[max(prefix.rfind("\n"), prefix.rfind("\r")) + 1 :]
    return {
        "in_word": float(line[-1:].isalnum() or line[-1:] == "_"),
        "at_line_start": float(not line.strip()),
        "in_line": float(suffix[:1] not in {"", "\n", "\r"}),
        "several_lines": float(max_lines > 1),
        "python": float(language_id == "python"),
    }


def features_of_middle(confidence: float, confidences: list[float], *, is_typed: bool) -> dict[str, float]:
    """What is known of a middle by the probabilities of its tokens."""
    return {
        "log_confidence": _log(confidence),
        "confidence": confidence,
        "typed_log_confidence": _log(confidence) if is_typed else 0.0,
        "log_least": _log(min(confidences, default=confidence)),
        "log_length": math.log(min(_LONGEST, max(1, len(confidences)))),
    }


def _log(probability: float) -> float:
    return max(_SMALLEST_LOG, math.log(probability)) if probability > 0 else _SMALLEST_LOG
