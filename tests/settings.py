"""The settings under test: config.settings, shielded from the environment of whoever runs the suite.

Only TEST_DATABASE_URL is taken from outside (script/test sets it to its private PostgreSQL).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

for _name in (
    "DATABASE_URL",
    "REDIS_URL",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "HTTPS",
    "DEBUG",
    "SECRET_KEY",
    "EMAIL_HOST",
    "SITE_URL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
):
    os.environ.pop(_name, None)
if os.environ.get("TEST_DATABASE_URL"):
    os.environ["DATABASE_URL"] = os.environ["TEST_DATABASE_URL"]

# One folder for each process of the suite, gone when it ends.
_folder = Path(tempfile.mkdtemp(prefix="touchstone-test-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["TOUCHSTONE_VAR"] = str(_folder)

from config.settings import *  # noqa: E402, F403
from config.settings import DATABASES, INSTALLED_APPS, REST_FRAMEWORK, STATIC_ROOT, TEMPLATES  # noqa: E402
from tests.undefined import Undefined  # noqa: E402

os.environ.pop("DATABASE_URL", None)  # a server that a test starts does not meet the suite's database

STATIC_ROOT.mkdir()

# Its pages are part of the product where it is installed; tests/team/test_single_sign_on.py names a provider.
INSTALLED_APPS = [*INSTALLED_APPS, "allauth.socialaccount.providers.saml"]

# Unhashed names, straight from the source folders: no collectstatic before the suite.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_AUTOREFRESH = True
WHITENOISE_USE_FINDERS = True

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, not memory: the live server's threads and the worker's open connections of their own, as in
    # earnest. OFF, since nobody mourns a test database after a power cut.
    DATABASES["default"]["TEST"] = {"NAME": str(_folder / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 0  # a kept connection would hold the test database at the end

# A template that names what the view does not pass fails; see tests/undefined.py.
TEMPLATES[0]["OPTIONS"]["string_if_invalid"] = Undefined("%s")

# No service but what a test configures. The environment keeps its names: tests/contract reads them.
LLM_URL = LLM_KEY = LLM_MODEL = EMBEDDINGS_URL = RERANK_URL = SEMANTIC_MODEL = SEARCH_PROVIDER = SEARCH_URL = ""
LLM_PRICE_PROMPT = LLM_PRICE_ANSWER = SEARCH_PRICE = 0.0
PAGES, PAGES_ALLOW, CALLS_AT_ONCE, RUN_LOST_AFTER = False, [], 32, 30
WEBHOOKS_ALLOW = []

REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = {"user": None}  # tests ask a lot; the one about this sets a rate

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast, for passwords of tests

# Tasks run at once, in the caller, and their errors reach the test; the marker real_worker undoes that.
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
