"""URLs: sign-in and accounts, the admin, the screens."""

from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from allauth.urls import build_provider_urlpatterns
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LogoutView
from django.urls import include, path, reverse_lazy
from django.views.generic import RedirectView

from config.health import healthz, readyz

# The admin has no sign-in of its own, so throttling and the second step apply there, too.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

_to_sign_in = login_not_required(RedirectView.as_view(url=reverse_lazy("login"), query_string=True))

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("sign-out/", LogoutView.as_view(), name="logout"),
    path("", include("annotator.urls")),  # before allauth’s own page for a forgotten password
    path("account/login/", _to_sign_in, name="account_login"),  # allauth's own name for it
    path("account/", include("allauth.account.urls")),
    path("account/two-step/", include("allauth.mfa.urls")),
    path("account/sessions/", include("allauth.usersessions.urls")),
    path("account/sso/", include("allauth.socialaccount.urls")),
    path("account/sso/", include(build_provider_urlpatterns())),
    path("admin/", admin.site.urls),
    path("api/v1/", include("annotator.api_urls")),
]

handler500 = "config.outages.handler500"
