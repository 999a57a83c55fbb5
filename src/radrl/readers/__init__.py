"""Labels read off films, without a report: what stands above the arms.

Lives here: models and probes that see a film and give labels, with their thresholds. They write no text.
Their rows in the tables are named here.
"""

from __future__ import annotations

from typing import Final

NETWORK: Final = "label_network"
PROBE: Final = "tower_probe"
PROBE_OF_BASE: Final = "tower_probe_base"
READERS: Final = {
    NETWORK: "a small network trained on labels; writes no text",
    PROBE: "a linear probe of the cold start's frozen tower; writes no text",
    PROBE_OF_BASE: "a linear probe of the base policy's frozen tower; writes no text",
}
"""Names, and what they are, in the order of the tables."""
