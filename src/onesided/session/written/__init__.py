"""Questions and releases as JSON: a closed, versioned form that is read back exactly."""
