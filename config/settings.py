"""The settings of every way of running: defaults for one person on one machine, the environment for the rest.

.env.example explains the names that are read from the environment. Nothing here is about fact-checking.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF
from django_guid.integrations import CeleryIntegration
from pythonjsonlogger.core import RESERVED_ATTRS

from config import bundles, environment, single_sign_on

BASE_DIR = Path(__file__).resolve().parent.parent

# The one version number; the API's description and exports name it.
VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text("utf-8"))["project"]["version"]

# Before numpy is loaded: web processes and workers share the cores, and numpy's own threads, one per core in each
# process, wait for each other (on two busy cores 20 s instead of 4 for the agreement of a large benchmark).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What this installation creates and keeps: database, secret key, demo log-ins, collected static files.
VAR_DIR = Path(environment.text("TOUCHSTONE_VAR", str(BASE_DIR / "var"))).resolve()
environment.private_folder(VAR_DIR)

DEBUG = environment.flag("DEBUG")
SECRET_KEY = environment.secret_key() or environment.kept_secret(VAR_DIR / "secret_key")
# Earlier keys: what they signed and encrypted can still be read. Newest first.
SECRET_KEY_FALLBACKS = environment.secret("SECRET_KEY_FALLBACKS").replace(",", " ").split()
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS")

LOG_REQUESTS = environment.flag("LOG_REQUESTS")  # one line in the log for each request
TRACING = environment.tracing_is_on()  # spans for OpenTelemetry
METRICS_TOKEN = environment.secret("METRICS_TOKEN")  # required to read /metrics; without one, nobody can

# --- apps -----------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "annotator",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",  # templates of allauth
    "whitenoise.runserver_nostatic",  # `manage.py runserver` then serves static files as gunicorn does
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "template_partials.apps.SimpleAppConfig",  # simple: TEMPLATES below lists the loaders
    "django_celery_results",
    "rest_framework",
    "drf_spectacular",
    "django_guid",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    *(["allauth.socialaccount.providers.saml"] if single_sign_on.saml_is_on() else []),
]

AUTH_USER_MODEL = "annotator.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MIDDLEWARE = [
    *(["config.tracing.TracingMiddleware"] if TRACING else []),
    "django_guid.middleware.guid_middleware",  # first: every line of the log names the request
    "config.metrics.MetricsMiddleware",
    "config.sign_ins.SignInLimitMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.CompressPagesMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.VaryOnHtmxMiddleware",
    "config.middleware.SignInRequiredMiddleware",
    *(["config.logs.RequestLogMiddleware"] if LOG_REQUESTS else []),
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

# --- templates ------------------------------------------------------------------------------------

_file_loaders = [
    "django.template.loaders.filesystem.Loader",
    "django.template.loaders.app_directories.Loader",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            # The partials loader must be outside the cached one, because it finds "page.html#part". During development
            # nothing is cached, so that a changed template shows at the next request.
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    _file_loaders if DEBUG else [("django.template.loaders.cached.Loader", _file_loaders)],
                )
            ],
            "builtins": ["template_partials.templatetags.partials"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotator.team.screens.notices.bar",
            ],
        },
    },
]

# --- database -------------------------------------------------------------------------------------

DATABASE_URL = environment.text("DATABASE_URL")

DATABASES: dict[str, dict[str, Any]]
if DATABASE_URL:
    # Connections live a minute and are checked before use: a restarted PostgreSQL costs no request.
    _database = dj_database_url.parse(DATABASE_URL, conn_max_age=60, conn_health_checks=True)
    if password := environment.secret("DATABASE_PASSWORD"):
        _database["PASSWORD"] = password
    DATABASES = {"default": {**_database}}
    if _database["ENGINE"] == "django.db.backends.postgresql":
        # What the URL itself sets ("?connect_timeout=5") has precedence.
        DATABASES["default"]["OPTIONS"] = environment.postgres_timeouts() | _database.get("OPTIONS", {})
else:
    # Listed here, not as a URL: the folder's name may contain spaces, '#' or '%'.
    _file = environment.private_file(VAR_DIR / "touchstone.sqlite3")
    DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(_file)}}

# Seconds for one statement of a worker's task, on PostgreSQL: exports and figures may take longer than a page.
WORKER_STATEMENT_TIMEOUT = environment.number("DB_WORKER_STATEMENT_TIMEOUT", 3600)

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        {
            # Take the write lock when a transaction begins. A transaction that reads first and writes later would
            # otherwise fail at once with "database is locked" if another one has written in between.
            "transaction_mode": "IMMEDIATE",
            # Seconds to wait for the lock (SQLite's busy timeout). Nobody holds it for long (benchmarks/locks.py);
            # after this time the response is 503, and the browser tries again.
            "timeout": 10,
            # WAL: readers never wait for the writer. FULL: an acknowledged save is on the disk, even after a power cut.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        }
    )

# --- people and their sessions --------------------------------------------------------------------

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
# Own names: browsers share cookies between all ports of localhost.
SESSION_COOKIE_NAME = "touchstone_session"
CSRF_COOKIE_NAME = "touchstone_csrf"
SESSION_COOKIE_AGE = 14 * 24 * 3600
CSRF_COOKIE_HTTPONLY = True  # the page carries the token itself, in hx-headers and in forms
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# --- e-mail ---------------------------------------------------------------------------------------

EMAIL_HOST = environment.text("EMAIL_HOST")
# Without a mail server, no email is sent, and the pages say so.
MAIL_IS_ON = bool(EMAIL_HOST)
EMAIL_PORT = environment.number("EMAIL_PORT", 25)
EMAIL_HOST_USER = environment.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = environment.secret("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = environment.flag("EMAIL_USE_TLS")
EMAIL_TIMEOUT = 10  # seconds; a silent server holds neither a page nor the worker for long
DEFAULT_FROM_EMAIL = environment.text("EMAIL_FROM", "touchstone@localhost")
# Where people reach Touchstone: tasks put links into emails, and they have no request to take the host from.
SITE_URL = environment.text("SITE_URL", "http://localhost:8000").rstrip("/")

# --- sign-in (django-allauth) ---------------------------------------------------------------------

# The only one: with a second one, each wrong password would be hashed twice.
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["config.hashing.PatientPasswordHasher"]
ACCOUNT_ADAPTER = "annotator.team.screens.accounts.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "annotator.team.screens.accounts.SignInForm",
    "change_password": "annotator.team.screens.accounts.ChangePassword",
    "reset_password_from_key": "annotator.team.screens.accounts.NewPassword",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_EMAIL_NOTIFICATIONS = MAIL_IS_ON  # about a changed password or a removed second step
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Touchstone: "
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if environment.flag("HTTPS") else "http"
# "mandatory": nobody signs in before verifying their address.
ACCOUNT_EMAIL_VERIFICATION = environment.text("EMAIL_VERIFICATION", "optional").lower()
if ACCOUNT_EMAIL_VERIFICATION not in {"optional", "mandatory"}:
    raise ValueError(f"EMAIL_VERIFICATION is {ACCOUNT_EMAIL_VERIFICATION!r}; write optional or mandatory.")
# By address ("ip") and by account ("key"), counted before a password is hashed. A lab shares one address.
ACCOUNT_RATE_LIMITS = {"login": "120/m/ip", "login_failed": "30/m/ip,5/5m/key"}
# How many proxies are in front: which entry of X-Forwarded-For is the client's.
ALLAUTH_TRUSTED_PROXY_COUNT = environment.number("PROXIES", 1 if environment.flag("HTTPS") else 0)
# Without mail, nobody could verify an address, and so nobody could add a second step.
MFA_ALLOW_UNVERIFIED_EMAIL = not MAIL_IS_ON
MFA_ADAPTER = "annotator.team.screens.accounts.SecondStepAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Touchstone"
MFA_TOTP_TOLERANCE = 1  # time steps of 30 s, because phones' clocks differ
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not environment.flag("HTTPS")  # only http://localhost: browsers refuse others

SOCIALACCOUNT_PROVIDERS = single_sign_on.providers()
SOCIALACCOUNT_ADAPTER = "annotator.team.screens.accounts.SingleSignOnAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = False
SOCIALACCOUNT_QUERY_EMAIL = False
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"  # the organization's directory vouches for the address
# Someone whose address the provider has verified is the person with that address here.
SOCIALACCOUNT_EMAIL_AUTHENTICATION = environment.flag("SSO_MATCHES_EMAIL", default=True)
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SSO_SIGNUP = environment.flag("SSO_SIGNUP", default=True)  # accounts for people that the provider knows and we don't

# --- security headers -----------------------------------------------------------------------------

# Everything comes from this host; nothing inline, nothing framed.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"  # URLs name documents: sites of evidence don't see them
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

# HTTPS=1 when a proxy in front of the app terminates TLS and sets X-Forwarded-Proto.
if environment.flag("HTTPS"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    # Subdomains and browsers' preload lists are up to the owner of the domain.
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

# Maximum body of a request in bytes, without uploaded files (those go to temporary files and are read as streams): 20
# MiB is many times the longest pasted document.
DATA_UPLOAD_MAX_MEMORY_SIZE = 20 * 1024 * 1024

# --- static files ---------------------------------------------------------------------------------

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        # Names contain a hash of the content, so browsers may keep files forever.
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if DEBUG
            else "config.static_bundles.BundledStaticFilesStorage"
        )
    },
}
STATIC_BUNDLES = bundles.BUNDLES
MEDIA_ROOT = VAR_DIR / "media"
# Uploads and exports are readable by this user only.
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700

# --- language and time ----------------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = True
TIME_ZONE = environment.text("TIME_ZONE", "UTC")
USE_TZ = True

# --- the API --------------------------------------------------------------------------------------

# Views set what they need beyond this themselves (annotator/integrations/api/base.py).
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_THROTTLE_CLASSES": ["annotator.integrations.api.authentication.PersonThrottle"],
    # All programs of a person together; counted by each process.
    "DEFAULT_THROTTLE_RATES": {"user": environment.text("API_RATE", "1200/minute")},
    "NUM_PROXIES": 1,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "annotator.integrations.api.problems.answer_problem",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
_WORDS_OF_THE_API = (
    "AnnotationKind", "AnnotationState", "ClaimType", "Confidence", "DisagreementReason", "EditKind", "Factuality",
    "DiscardReason",
    "FlagReason", "Handling", "Importance", "NoticeKind", "NotWorthReason", "Origin", "Phase", "Removal", "Role",
    "RunState", "Seat", "SentenceType", "Stage", "StanceLabel", "SuggesterKind", "DeliveryState", "WebhookEvent",
    "GroupedBy", "ReleaseState", "Task",
)  # fmt: skip
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Touchstone",
    "DESCRIPTION": "Everything the Touchstone pages can do, for programs. See docs/api.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "LICENSE": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,  # the whole description, for everyone
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SERVE_AUTHENTICATION": [
        "annotator.integrations.api.authentication.TokenAuthentication",
        "annotator.integrations.api.base.Session",
    ],
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "ENUM_NAME_OVERRIDES": {name: f"annotator.core.vocabulary.{name}" for name in _WORDS_OF_THE_API},
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "COMPONENT_SPLIT_PATCH": False,
    "PATH_CONVERTER_OVERRIDES": {
        "id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,32}$"},
        "token": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "name": {"type": "string", "pattern": "^[A-Za-z0-9_.@+-]{1,150}$"},
        "key": {"type": "string", "pattern": "^[A-Za-z0-9_:.-]{1,120}$"},
        "number": {"type": "string", "pattern": "^[0-9]{1,15}$"},
        "stage": {"type": "string", "enum": ["decompose", "verify", "revise"]},
        "kind": {
            "type": "string",
            "enum": [
                "sentence",
                "claim",
                "evidence",
                "stance",
                "verdict",
                "claim-revision",
                "sentence-revision",
                "response-revision",
            ],
        },
        "slug": {"type": "string", "pattern": "^[-a-zA-Z0-9_]+$"},
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotator.integrations.api.schema.complete",
    ],
}

# --- the services that suggestions are made with --------------------------------------------------

# All optional: without any, the offline strategy works. docs/running-strategies.md explains each.
LLM_URL = environment.text("LLM_URL")  # of any OpenAI-compatible server, up to and with /v1
LLM_KEY = environment.secret("LLM_KEY")
LLM_MODEL = environment.text("LLM_MODEL")
LLM_PRICE_PROMPT = environment.decimal("LLM_PRICE_PROMPT", 0.0)  # money per million tokens, in any one currency
LLM_PRICE_ANSWER = environment.decimal("LLM_PRICE_ANSWER", 0.0)
EMBEDDINGS_URL = environment.text("EMBEDDINGS_URL")
EMBEDDINGS_KEY = environment.secret("EMBEDDINGS_KEY")
EMBEDDINGS_MODEL = environment.text("EMBEDDINGS_MODEL")
RERANK_URL = environment.text("RERANK_URL")
RERANK_KEY = environment.secret("RERANK_KEY")
RERANK_MODEL = environment.text("RERANK_MODEL")
SEMANTIC_MODEL = environment.text("SEMANTIC_MODEL")  # folder of a sentence-transformers model
LLM_PROVIDER = environment.text("LLM_PROVIDER").lower() or "openai"  # one of pipeline.clients.assemble.MODELS
SEARCH_PROVIDER = environment.text("SEARCH_PROVIDER").lower()  # one of pipeline.clients.assemble.PROVIDERS
SEARCH_URL = environment.text("SEARCH_URL")
SEARCH_KEY = environment.secret("SEARCH_KEY")
WEB_SEARCH_URL = environment.text("WEB_SEARCH_URL", "https://duckduckgo.com/?q=")  # opened by an annotator's key
SEARCH_PRICE = environment.decimal("SEARCH_PRICE", 0.0)  # money per query
PAGES = environment.flag("PAGES", default=True)  # whether pages are fetched at all
PAGES_ROBOTS = environment.flag("PAGES_ROBOTS", default=True)
PAGES_ALLOW = environment.words("PAGES_ALLOW")  # hosts and networks that may be private
# Seconds between two requests to one host when saved pages are rechecked; robots.txt may ask for more.
RECHECK_PAUSE = environment.decimal("RECHECK_PAUSE", 1.0)
# Seconds between two looks at a batch of requests, which may take a day.
BATCH_PAUSE = environment.decimal("BATCH_PAUSE", 60.0)
WEBHOOKS_ALLOW = environment.words("WEBHOOKS_ALLOW")  # hosts and networks of webhooks that may be private
CALLS_AT_ONCE = environment.number("CALLS_AT_ONCE", 32)  # to one host, by all threads of a process
# Seconds without a sign of life after which a document's worker counts as lost and the document is handed out again.
RUN_LOST_AFTER = environment.number("RUN_LOST_AFTER", 30)

# --- how long personal data is kept (docs/operating.md) -----------------------------------------

SECURITY_EVENTS_DAYS = environment.number("SECURITY_EVENTS_DAYS", 365)  # 0: forever
NOTICES_DAYS = environment.number("NOTICES_DAYS", 365)  # after they were read; 0: forever
PRIVACY_CONTACT = environment.text("PRIVACY_CONTACT")  # whom people ask to erase their data

# --- cache ----------------------------------------------------------------------------------------

# What all processes must know: attempts to sign in, and used codes.
CACHES: dict[str, dict[str, Any]] = {
    "default": (
        {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": environment.redis_url()}
        if environment.redis_url()
        else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 100_000}}
    ),
    # The API counts in each process, so it doesn't depend on Redis.
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "process"},
}

# --- Celery ---------------------------------------------------------------------------------------

REDIS_URL = environment.redis_url()
# Without Redis, the queue is in the memory of the one web process, and its worker is a thread there (config/worker.py).
# Tasks and screens are the same; what is lost when the process ends is enqueued again from the run rows in the
# database.
IN_PROCESS_WORKER = not REDIS_URL
CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    # Seconds between polls of the in-memory queue; the default of 1 s can be felt on every screen.
    {"polling_interval": 0.05}
    if IN_PROCESS_WORKER
    # After this many seconds, Redis gives an unacknowledged task to another worker; longer than any single task, and
    # shorter than the default hour, for which a killed worker would keep people waiting.
    else {"visibility_timeout": 15 * 60}
)
CELERY_IMPORTS = ["config.tracing"] if TRACING else []  # the receivers that make spans of tasks
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True  # Redis may start after the worker
CELERY_RESULT_BACKEND = "django-db"
CELERY_RESULT_EXTENDED = True  # a failed task's row names the task and its arguments
# Run rows record progress, and nobody reads task results, so there is no write per task. Failures are kept with their
# traceback, for the admin page.
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_STORE_ERRORS_EVEN_IF_IGNORED = True
CELERY_RESULT_EXPIRES = 30 * 24 * 3600
# Acknowledge after the work, and return the task if the worker process dies: tasks are idempotent.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # tasks are long: reserve one at a time and leave the rest to other workers
if not IN_PROCESS_WORKER:
    CELERY_WORKER_CONSUMER = "config.redis_loss:RestartingConsumer"
CELERY_ACCEPT_CONTENT = ["json"]  # never unpickle what comes from a network
CELERY_TASK_SERIALIZER = "json"
CELERY_RESULT_SERIALIZER = "json"
CELERY_TASK_DEFAULT_QUEUE = "touchstone"  # other apps on the same Redis have their own queues
CELERY_TIMEZONE = TIME_ZONE
# Sent by the worker itself, in-process or separate (--beat); seconds. Tasks named here are idempotent.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "begin what a command has written": {"task": "pipeline.pick_up_runs", "schedule": 3.0},
    "hand over batches of requests, and look what came of them": {"task": "pipeline.work_on_batches", "schedule": 5.0},
    "go on with what a killed worker left": {"task": "pipeline.resume_runs", "schedule": RUN_LOST_AFTER / 3},
    "learn from gold that has grown": {"task": "pipeline.learn_where_gold_has_grown", "schedule": 600.0},
    "fetch added pages that were left behind": {"task": "pipeline.fetch_forgotten", "schedule": 15 * 60.0},
    "go on with checks of saved pages that a killed worker left": {
        "task": "pipeline.resume_rechecks",
        "schedule": 60.0,
    },
    "go on with imports that a killed worker left": {"task": "annotator.resume_imports", "schedule": 15 * 60.0},
    "go on with changes of batches that a killed worker left": {
        "task": "annotator.resume_batch_changes",
        "schedule": 30.0,
    },
    "go on with changes of documents that a killed worker left": {
        "task": "annotator.resume_document_changes",
        "schedule": 30.0,
    },
    "go on with deletions that were cut off": {"task": "annotator.resume_deletions", "schedule": 15 * 60.0},
    "bring the search index of documents up to date": {"task": "annotator.index_documents", "schedule": 20.0},
    "go on with releases that a killed worker left": {"task": "annotator.resume_releases", "schedule": 15 * 60.0},
    "go on with scoring that a killed worker left": {"task": "annotator.resume_scoring", "schedule": 15 * 60.0},
    "tell webhooks what failed or was left behind": {"task": "pipeline.send_due_webhooks", "schedule": 10.0},
    "forget old deliveries of webhooks": {"task": "pipeline.forget_old_deliveries", "schedule": 60 * 60.0},
    "delete what is kept for a time only": {"task": "annotator.forget_what_is_old", "schedule": 24 * 60 * 60.0},
    "mail the notices that were left behind": {"task": "annotator.mail_what_was_left", "schedule": 60 * 60.0},
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # logging is configured in LOGGING below
# Threads of the in-process worker, processes of a separate one. Model and page requests wait rather than compute.
CELERY_WORKER_CONCURRENCY = environment.number("WORKER_CONCURRENCY", 4)

# --- logging --------------------------------------------------------------------------------------

# Each request has an id, its own or the proxy's (a UUID in X-Request-ID), in every log line and in the response. Tasks
# that it enqueues carry it on.
DJANGO_GUID: dict[str, Any] = {
    "GUID_HEADER_NAME": "X-Request-ID",
    "VALIDATE_GUID": True,
    "INTEGRATIONS": [CeleryIntegration()],
}
LOG_FORMAT = environment.text("LOG_FORMAT", "line").lower()
if LOG_FORMAT not in {"line", "json"}:
    raise ValueError(f"LOG_FORMAT is {LOG_FORMAT!r}; write line or json.")
_log_level = environment.text("LOG_LEVEL", "INFO").upper()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"},
        "json": {
            "()": "pythonjsonlogger.json.JsonFormatter",
            "fmt": "{asctime}{levelname}{name}{message}{correlation_id}",
            "style": "{",
            "rename_fields": {"asctime": "at", "levelname": "level", "name": "logger", "correlation_id": "request"},
            # Django’s error records carry the request object as "request", which would replace the id.
            "reserved_attrs": [*RESERVED_ATTRS, "request"],
        },
    },
    "filters": {
        "outages": {"()": "config.outages.OutagesAreLogged"},
        "request": {"()": "django_guid.log_filters.CorrelationId"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["request"]}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "annotator": {"level": _log_level},
        "pipeline": {"level": _log_level},
        "config": {"level": _log_level},
        "django_guid": {"level": "WARNING"},
        "celery": {"level": "WARNING"},
        "celery.worker.control": {"level": "ERROR"},  # it warns about every ordinary stop
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.request": {"filters": ["outages"]},
        "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
    },
}
