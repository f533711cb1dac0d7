"""Settings, URLs, Celery and servers. Nothing here is about fact-checking."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
