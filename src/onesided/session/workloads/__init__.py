"""Questions about sums of many groups: linear queries, ranges and rectangles."""
