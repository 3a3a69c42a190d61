"""Where the steps of a comparison were; they are beside the facade now."""

from enginescope.validation_run import Plan as Plan
from enginescope.validation_run import ValidationRun as ValidationRun
from enginescope.validation_run import Watch as Watch
