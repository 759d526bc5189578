"""The words on the wire: records, requests, and the profiles that say what holds."""

from resonate_lab.protocol.profile import PROFILES, Profile
from resonate_lab.protocol.records import Promise, Schedule, Step, Task, Ticks, Value

__all__ = ["PROFILES", "Profile", "Promise", "Schedule", "Step", "Task", "Ticks", "Value"]
