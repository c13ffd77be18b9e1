"""From a comparison to one HTML file; nothing is computed again here."""
