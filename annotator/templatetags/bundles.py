"""The template tag for a bundle of static files (config/static_bundles.py)."""

from __future__ import annotations

from django import template
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def bundle(name: str) -> SafeString:
    """The element for a bundle ("bundles/site.js"), or for each of its parts if static files aren't collected.

    Raises KeyError for a bundle that the settings don't name.
    """
    parts = settings.STATIC_BUNDLES[name]
    names = [name] if getattr(staticfiles_storage, "has_bundles", False) else parts
    return format_html_join("\n", "{}", ((_element(each),) for each in names))


def _element(name: str) -> SafeString:
    if name.endswith(".css"):
        return format_html('<link rel="stylesheet" href="{}">', static(name))
    return format_html('<script src="{}" defer></script>', static(name))
