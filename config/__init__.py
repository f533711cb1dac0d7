"""The house around the app: settings, urls, Celery, servers. Nothing here is about facts."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
