"""What to propose, and how far: drafts copied from text in reach. Knows no model."""
