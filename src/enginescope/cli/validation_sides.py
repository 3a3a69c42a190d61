"""Where the sides of a comparison were; they are beside the facade now."""

from enginescope.validation_sides import EXPECTED as EXPECTED
from enginescope.validation_sides import REFERENCE as REFERENCE
from enginescope.validation_sides import Side as Side
from enginescope.validation_sides import Sides as Sides
from enginescope.validation_sides import sides_of as sides_of
from enginescope.validation_sides import tolerance_name as tolerance_name
