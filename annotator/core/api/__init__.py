"""The API at /api/v1/: the same actions and queries as the screens, for programs."""
