"""For people who prefer an ASGI server; script/server and compose.yaml use config/wsgi.py.

With an ASGI server, set REDIS_URL: config/gunicorn.py starts the in-process worker.
"""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()
