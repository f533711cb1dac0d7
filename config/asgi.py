"""For who prefers an ASGI server; script/server and compose.yaml use config/wsgi.py.

With an ASGI server set REDIS_URL: the in-process worker belongs to config/gunicorn.py.
"""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()
