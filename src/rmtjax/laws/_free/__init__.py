"""Laws that free probability makes of other laws: sums, products and corners, by their subordinate points."""
