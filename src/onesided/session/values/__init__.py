"""Questions that add up values: sums, means and variances of bounded columns."""
