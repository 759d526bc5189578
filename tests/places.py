"""Zones and years with what is odd about them."""

PLACES = [
    ("America/New_York", 2026),
    ("Europe/Berlin", 2026),
    ("America/Sao_Paulo", 2026),
    ("Australia/Lord_Howe", 2026),  # half an hour of summer time
    ("Asia/Kolkata", 2026),
    ("America/Sao_Paulo", 2018),  # changes at midnight
    ("America/St_Johns", 2028),  # half an hour off, a leap year
    ("Asia/Kathmandu", 2024),  # a quarter off
    ("Africa/Casablanca", 2026),  # four changes a year, around Ramadan
    ("Asia/Pyongyang", 2018),  # half an hour, once
    ("Europe/Istanbul", 2016),  # new rules in the middle of the year
    ("Pacific/Kiritimati", 2025),  # fourteen hours ahead
    ("Antarctica/Troll", 2026),  # two hours of summer time
    ("Pacific/Apia", 2011),  # a day that does not exist
]
