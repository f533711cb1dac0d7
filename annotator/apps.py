import gc
import sys

from django.apps import AppConfig


class AnnotatorConfig(AppConfig):
    name = "annotator"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Touchstone"

    def ready(self) -> None:
        # An export or an import makes thousands of objects that are all still needed. By Python's own threshold, 700,
        # the garbage collector looks through them again and again, which takes a sixth of the time and finds nothing.
        gc.set_threshold(50_000, 20, 20)
        # A thread that heard from the database waits for Python's lock while another one computes: by Python's own
        # interval 5 ms each time, which is longer than most queries take.
        sys.setswitchinterval(0.0005)  # seconds
        from annotator.core.actions import append_only  # after the models
        from annotator.team.actions import security

        append_only.connect()
        security.connect()
