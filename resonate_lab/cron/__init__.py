"""What a cron text means: the expression, its words, its findings, its other readings."""

from resonate_lab.cron.expression import DIALECTS, CronError, CronExpression

__all__ = ["DIALECTS", "CronError", "CronExpression"]
