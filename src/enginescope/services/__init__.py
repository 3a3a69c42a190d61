"""One function per verb, from request to result: the only place that sees both wings."""
