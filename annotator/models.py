"""Where Django looks for models: each area has its own in ``annotator.<area>.models``."""

from annotator.core.models import *  # noqa: F403
from annotator.exchange.models import *  # noqa: F403
from annotator.integrations.models import *  # noqa: F403
from annotator.leaderboard.models import *  # noqa: F403
from annotator.studies.models import *  # noqa: F403
from annotator.suggestions.models import *  # noqa: F403
