# cython: language_level=3, cdivision=True, embedsignature=True, binding=False, autotestdict=False
"""The compiled cron core: text to bit masks, masks to ticks.

Three strata, from the ground up:

1. tables and calendar arithmetic on whole seconds and days since the Unix epoch, UTC;
2. the compiled form, the readers of the two grammars, and the search over the form:
   next, previous, count, bulk fill. No Python object, no exception, no GIL;
3. the face: `Cron`, which checks its arguments and raises.

The compiled form is the whole trick. A month has one of 28 *shapes*: four lengths by
seven weekdays of its first day. Every day rule, be it a list of days, a list of
weekdays, both, or Quartz's ``L``, ``W`` and ``#``, is worked out once per shape into a
mask of the days of that month, so the search never looks at a rule again: it shifts
masks and counts trailing zeros.
"""

from cpython.bool cimport PyBool_Check
from cpython.buffer cimport PyBUF_CONTIG, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset, strcmp

cdef extern from *:
    """
    #define LOWEST_BIT(x) __builtin_ctzll(x)
    #define HIGHEST_BIT(x) (63 - __builtin_clzll(x))
    #define BIT_COUNT(x) __builtin_popcountll(x)
    """
    int LOWEST_BIT(uint64_t) noexcept nogil
    int HIGHEST_BIT(uint64_t) noexcept nogil
    int BIT_COUNT(uint64_t) noexcept nogil

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    object PyUnicode_FromObject(object)
    object PyNumber_Index(object)


# --- 1. Tables and calendar arithmetic -----------------------------------------------

DIALECTS = ("resonate", "resonate-0.9.8", "quartz")

cdef enum:
    FIRST_YEAR = 1970
    LAST_YEAR = 2100
    YEARS = 131
    MONTHS = 1572            # YEARS * 12
    SHAPES = 28              # of a month: lengths 28..31 by the weekday of the first, 0 = Sunday
    YEAR_SHAPES = 14         # common or leap by the weekday of 1 January
    DAY = 86400
    NONE = -1                # no tick: real ones are never negative

cdef enum:                   # fields
    SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR

cdef int32_t[7] LOWEST = [0, 0, 0, 1, 1, 1, FIRST_YEAR]
cdef int32_t[7] HIGHEST = [59, 59, 23, 31, 12, 7, LAST_YEAR]

cdef int32_t month_start[MONTHS + 1]   # day number of the first of each month
cdef uint8_t month_shape[MONTHS]
cdef uint8_t year_shape[YEARS]
cdef uint64_t years_of_shape[YEAR_SHAPES][3]          # bit 0 = 1970
# Which months of a year of the second shape have the first, bit 0 = January.
cdef uint16_t months_of_shape[SHAPES][YEAR_SHAPES]


cdef int fill_calendar() noexcept:
    cdef:
        int32_t day = 0
        int month, year, size, shape
        int32_t[12] sizes = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    for month in range(MONTHS):
        year = FIRST_YEAR + month // 12
        size = sizes[month % 12]
        # 2000 is the only century in the table that has a 29 February; 2100 has none.
        if month % 12 == 1 and year % 4 == 0 and year != 2100:
            size = 29
        month_start[month] = day
        month_shape[month] = (size - 28) * 7 + (day + 4) % 7   # 1970-01-01 was a Thursday
        day += size
    month_start[MONTHS] = day
    for year in range(YEARS):
        shape = month_shape[year * 12] % 7 + (7 if month_shape[year * 12 + 1] >= 7 else 0)
        year_shape[year] = shape
        years_of_shape[shape][year >> 6] |= <uint64_t> 1 << (year & 63)
        for month in range(12):
            months_of_shape[month_shape[year * 12 + month]][shape] |= 1u << month
    return day

cdef int32_t DAYS = fill_calendar()
cdef int64_t END = <int64_t> DAYS * DAY
END_MS = END * 1000
cdef int64_t MAX_INSTANT = END * 1000


cdef inline int month_of(int32_t day) noexcept nogil:
    """Month index (0 = January 1970) of a day number in [0, DAYS)."""
    # 2153 / 65536 is a month's mean length upside down: over 131 years the guess is off
    # by at most one, which a look at the month's own bounds mends.
    cdef int month = (day * 2153) >> 16
    if month_start[month] > day:
        return month - 1
    if month_start[month + 1] <= day:
        return month + 1
    return month


cdef inline uint32_t weekday_days(uint32_t weekdays, int first) noexcept nogil:
    """Days 1..31 (bit 0 = the 1st) on the weekdays (bit 0 = Sunday), given the first's."""
    cdef uint32_t week = ((weekdays >> first) | (weekdays << (7 - first))) & 0x7F
    return week | week << 7 | week << 14 | week << 21 | week << 28


# --- 2a. The compiled form -------------------------------------------------------------

cdef enum:                   # day rules
    LISTED           # days and weekdays from their lists; both must hold
    LAST             # L, L-n
    WEEKDAY          # nW: the weekday nearest to day n
    LAST_WEEKDAY     # LW, L-nW
    LAST_NAMED       # nL: the last such weekday of the month
    NTH_NAMED        # n#k

cdef struct Compiled:
    uint64_t bits[6]         # allowed values of each field, bit 0 = its lowest; no year
    uint64_t years[3]        # as listed, bit 0 = 1970
    uint32_t days[SHAPES]    # days of the month by its shape, bit 0 = the 1st
    uint16_t months[YEAR_SHAPES]    # that have a tick, by the shape of the year, bit 0 = January
    uint64_t live[3]         # the listed years that have a tick
    int32_t first_time, last_time   # seconds of the day
    int32_t per_day
    uint8_t rule, rule_n, rule_k
    bint starts_midyear      # the released server's defect: see `start_of_search`


cdef inline bint has(const uint64_t* bits, int64_t i) noexcept nogil:
    return (bits[i >> 6] >> (i & 63)) & 1


cdef inline int next_bit(const uint64_t* bits, int i) noexcept nogil:
    """First set bit of three words at or after i, or -1."""
    cdef uint64_t word
    while i < 192:
        word = bits[i >> 6] >> (i & 63)
        if word:
            return i + LOWEST_BIT(word)
        i = (i | 63) + 1
    return -1


cdef inline int previous_bit(const uint64_t* bits, int i) noexcept nogil:
    """Last set bit of three words at or before i, or -1."""
    cdef uint64_t word
    while i >= 0:
        word = bits[i >> 6] << (63 - (i & 63))
        if word:
            return i - 63 + HIGHEST_BIT(word)
        i = (i & ~63) - 1
    return -1


cdef int nearest_weekday(int day, int size, int first) noexcept nogil:
    """The weekday nearest to a day that does not leave the month (Quartz's W)."""
    cdef int weekday = (first + day - 1) % 7
    if weekday == 6:
        return 3 if day == 1 else day - 1
    if weekday == 0:
        return day - 2 if day == size else day + 1
    return day


cdef uint32_t days_of_shape(const Compiled* c, int size, int first) noexcept nogil:
    cdef:
        uint32_t month = 0xFFFFFFFFu >> (32 - size)
        uint32_t named
        int day, _earlier
    if c.rule == LISTED:
        named = weekday_days(<uint32_t> c.bits[DAY_OF_WEEK], first)
        return <uint32_t> c.bits[DAY_OF_MONTH] & named & month
    if c.rule == LAST_NAMED or c.rule == NTH_NAMED:
        named = weekday_days(1u << (c.rule_n - 1), first) & month
        if c.rule == LAST_NAMED:
            return 1u << HIGHEST_BIT(named)
        for _earlier in range(c.rule_k - 1):
            named &= named - 1          # drops the lowest, the earliest of the month
        return named & (0 - named)
    day = c.rule_n if c.rule == WEEKDAY else size - c.rule_n
    if day < 1 or day > size:
        return 0
    if c.rule != LAST:
        day = nearest_weekday(day, size, first)
    return 1u << (day - 1)


cdef void finish(Compiled* c) noexcept nogil:
    """Derive all that the search needs from the values of the fields."""
    cdef int shape, i
    for shape in range(SHAPES):
        c.days[shape] = days_of_shape(c, 28 + shape // 7, shape % 7)
        if c.days[shape]:
            for i in range(YEAR_SHAPES):
                c.months[i] |= months_of_shape[shape][i]
    # With the months and years that have no tick struck off, Friday 13th and 29 February are
    # found in one step and 30 February ends at once.
    for shape in range(YEAR_SHAPES):
        c.months[shape] &= c.bits[MONTH]
        if c.months[shape]:
            for i in range(3):
                c.live[i] |= c.years[i] & years_of_shape[shape][i]
    c.first_time = (
        LOWEST_BIT(c.bits[HOUR]) * 3600 + LOWEST_BIT(c.bits[MINUTE]) * 60
        + LOWEST_BIT(c.bits[SECOND])
    )
    c.last_time = (
        HIGHEST_BIT(c.bits[HOUR]) * 3600 + HIGHEST_BIT(c.bits[MINUTE]) * 60
        + HIGHEST_BIT(c.bits[SECOND])
    )
    c.per_day = BIT_COUNT(c.bits[HOUR]) * BIT_COUNT(c.bits[MINUTE]) * BIT_COUNT(c.bits[SECOND])


# --- 2b. The search --------------------------------------------------------------------

cdef inline int32_t time_from(const Compiled* c, int32_t time) noexcept nogil:
    """First allowed second of the day at or after `time`, or NONE."""
    cdef:
        int hour = time // 3600
        int minute = (time - hour * 3600) // 60
        int second = time - hour * 3600 - minute * 60
        uint64_t rest
    if (c.bits[HOUR] >> hour) & 1:
        if (c.bits[MINUTE] >> minute) & 1:
            rest = c.bits[SECOND] >> second
            if rest:
                return time + LOWEST_BIT(rest)
        rest = c.bits[MINUTE] >> (minute + 1)
        if rest:
            return hour * 3600 + (minute + 1 + LOWEST_BIT(rest)) * 60 + LOWEST_BIT(c.bits[SECOND])
    rest = c.bits[HOUR] >> (hour + 1)
    if rest:
        # The smaller units start again at their lowest: first_time holds them.
        return (hour + 1 + LOWEST_BIT(rest) - LOWEST_BIT(c.bits[HOUR])) * 3600 + c.first_time
    return NONE


cdef inline int32_t time_until(const Compiled* c, int32_t time) noexcept nogil:
    """Last allowed second of the day at or before `time`, or NONE."""
    cdef:
        int hour = time // 3600
        int minute = (time - hour * 3600) // 60
        int second = time - hour * 3600 - minute * 60
        uint64_t rest
    if (c.bits[HOUR] >> hour) & 1:
        if (c.bits[MINUTE] >> minute) & 1:
            rest = c.bits[SECOND] & ((2ull << second) - 1)
            if rest:
                return time - second + HIGHEST_BIT(rest)
        rest = c.bits[MINUTE] & ((1ull << minute) - 1)
        if rest:
            return hour * 3600 + HIGHEST_BIT(rest) * 60 + HIGHEST_BIT(c.bits[SECOND])
    rest = c.bits[HOUR] & ((1ull << hour) - 1)
    if rest:
        return (HIGHEST_BIT(rest) - HIGHEST_BIT(c.bits[HOUR])) * 3600 + c.last_time
    return NONE


cdef inline int month_from(const Compiled* c, int month) noexcept nogil:
    """First month (index) with a tick at or after `month`, or MONTHS."""
    cdef:
        int year = month // 12
        uint32_t rest
    if has(c.live, year):         # never of the year after the calendar's last
        rest = <uint32_t> c.months[year_shape[year]] >> (month - year * 12)
        if rest:
            return month + LOWEST_BIT(rest)
    year = next_bit(c.live, year + 1)
    return MONTHS if year < 0 else year * 12 + LOWEST_BIT(c.months[year_shape[year]])


cdef inline int month_until(const Compiled* c, int month) noexcept nogil:
    """Last month (index) with a tick at or before `month`, or -1."""
    cdef:
        int year = month // 12
        uint32_t rest
    if month >= 0 and has(c.live, year):
        rest = c.months[year_shape[year]] & ((2u << (month - year * 12)) - 1)
        if rest:
            return year * 12 + HIGHEST_BIT(rest)
    year = previous_bit(c.live, year - 1)
    return -1 if year < 0 else year * 12 + HIGHEST_BIT(c.months[year_shape[year]])


cdef int64_t tick_from(const Compiled* c, int64_t t) noexcept nogil:
    """First tick at or after second t, or NONE. Ends with the calendar."""
    cdef:
        int32_t day, time
        int month, listed
        uint32_t days
    if t >= END:
        return NONE
    day = <int32_t> (t // DAY)
    time = <int32_t> (t - <int64_t> day * DAY)
    month = month_of(day)
    listed = month_from(c, month)
    if listed == month:
        days = c.days[month_shape[month]] >> (day - month_start[month])
        if days & 1:
            time = time_from(c, time)
            if time != NONE:
                return <int64_t> day * DAY + time
        days >>= 1
        if days:
            return <int64_t> (day + 1 + LOWEST_BIT(days)) * DAY + c.first_time
        listed = month_from(c, month + 1)
    if listed == MONTHS:
        return NONE
    day = month_start[listed] + LOWEST_BIT(c.days[month_shape[listed]])
    return <int64_t> day * DAY + c.first_time


cdef int64_t tick_until(const Compiled* c, int64_t t) noexcept nogil:
    """Last tick at or before second t, or NONE."""
    cdef:
        int32_t day, time
        int month, listed
        uint32_t days
    if t < 0:
        return NONE
    if t >= END:
        t = END - 1
    day = <int32_t> (t // DAY)
    time = <int32_t> (t - <int64_t> day * DAY)
    month = month_of(day)
    listed = month_until(c, month)
    if listed == month:
        days = c.days[month_shape[month]] & (0xFFFFFFFFu >> (31 - (day - month_start[month])))
        if (days >> (day - month_start[month])) & 1:
            time = time_until(c, time)
            if time != NONE:
                return <int64_t> day * DAY + time
            days ^= 1u << (day - month_start[month])
        if days:
            return <int64_t> (month_start[month] + HIGHEST_BIT(days)) * DAY + c.last_time
        listed = month_until(c, month - 1)
    if listed < 0:
        return NONE
    day = month_start[listed] + HIGHEST_BIT(c.days[month_shape[listed]])
    return <int64_t> day * DAY + c.last_time


cdef inline int64_t start_of_search(const Compiled* c, int64_t t) noexcept nogil:
    """Where the search for the first tick at or after second t begins.

    It is t, but for the released server: when it must skip to a later listed year, it
    goes on there at t's own month, day and time instead of 1 January.
    """
    cdef:
        int32_t day
        int month, year, there, size
    if not c.starts_midyear or t >= END:
        return t
    day = <int32_t> (t // DAY)
    month = month_of(day)
    if has(c.years, month // 12):
        return t
    year = next_bit(c.years, month // 12)
    if year < 0:
        return END
    there = year * 12 + month % 12
    size = month_start[there + 1] - month_start[there]
    if day - month_start[month] < size:
        return t + <int64_t> (month_start[there] - month_start[month]) * DAY
    # 29 February seen from a common year: the day is clamped, and the time of day binds
    # only where the 29th itself is listed.
    t = t % DAY if (c.bits[DAY_OF_MONTH] >> 28) & 1 else 0
    return t + <int64_t> (month_start[there + 1] - 1) * DAY


cdef int32_t times_before(const Compiled* c, int32_t time) noexcept nogil:
    """Number of allowed seconds of the day below `time`, which is in [0, 86400]."""
    cdef:
        int hour = time // 3600
        int minute = (time - hour * 3600) // 60
        int second = time - hour * 3600 - minute * 60
        int per_minute = BIT_COUNT(c.bits[SECOND])
        int per_hour = BIT_COUNT(c.bits[MINUTE]) * per_minute
        int n = BIT_COUNT(c.bits[HOUR] & ((1ull << hour) - 1)) * per_hour
    if (c.bits[HOUR] >> hour) & 1:
        n += BIT_COUNT(c.bits[MINUTE] & ((1ull << minute) - 1)) * per_minute
        if (c.bits[MINUTE] >> minute) & 1:
            n += BIT_COUNT(c.bits[SECOND] & ((1ull << second) - 1))
    return n


cdef int64_t ticks_before(const Compiled* c, int64_t t, int since) noexcept nogil:
    """Number of ticks from the month `since` (index) on and before second t."""
    cdef:
        int32_t day = <int32_t> (t // DAY)
        int month = month_of(day) if day < DAYS else MONTHS
        int listed = month_from(c, since)
        int64_t n = 0
        uint32_t days
    while listed < month:
        n += BIT_COUNT(c.days[month_shape[listed]])
        listed = month_from(c, listed + 1)
    n *= c.per_day
    if listed == month and month < MONTHS:
        day -= month_start[month]
        days = c.days[month_shape[month]]
        n += <int64_t> BIT_COUNT(days & ((1u << day) - 1)) * c.per_day
        if (days >> day) & 1:
            n += times_before(c, <int32_t> (t % DAY))
    return n


cdef int64_t count(const Compiled* c, int64_t first, int64_t last) noexcept nogil:
    """Number of ticks in the closed window [first, last] of seconds."""
    cdef int since
    if last >= END:
        last = END - 1
    if first > last:
        return 0
    since = month_of(<int32_t> (first // DAY))
    return ticks_before(c, last + 1, since) - ticks_before(c, first, since)


cdef int expand(uint64_t bits, int64_t unit, int64_t* out) noexcept nogil:
    cdef int n = 0
    while bits:
        out[n] = LOWEST_BIT(bits) * unit
        bits &= bits - 1
        n += 1
    return n


cdef int64_t fill_day(
    const Compiled* c, int64_t day, int32_t time, int64_t* out, int64_t room
) noexcept nogil:
    """Write the ticks (ms) of a day from second `time` on, at most `room`; how many."""
    cdef:
        int64_t[60] seconds
        int64_t[60] minutes
        int per_minute = expand(c.bits[SECOND], 1000, seconds)
        int per_hour = expand(c.bits[MINUTE], 60000, minutes)
        int i, j
        int64_t n = 0, base, hour_base
        uint64_t hours = c.bits[HOUR] & (~<uint64_t> 0 << (time // 3600))
        int64_t from_ms = (day * DAY + time) * 1000
    while hours:
        hour_base = day * (DAY * 1000) + LOWEST_BIT(hours) * <int64_t> 3600000
        hours &= hours - 1
        for i in range(per_hour):
            base = hour_base + minutes[i]
            if base >= from_ms and n + per_minute <= room:
                for j in range(per_minute):
                    out[n + j] = base + seconds[j]
                n += per_minute
                continue
            if base + 59000 < from_ms:
                continue
            for j in range(per_minute):
                if n == room:
                    return n
                if base + seconds[j] >= from_ms:
                    out[n] = base + seconds[j]
                    n += 1
    return n


cdef int64_t fill(const Compiled* c, int64_t t, int64_t* out, int64_t room) noexcept nogil:
    """Write the first ticks (ms) at or after second t, at most `room`; how many."""
    cdef:
        int64_t first = tick_from(c, t), n = 0, pattern = -1, shift, take, i
        int32_t day, pattern_day = 0
        int month
        uint32_t days
        int64_t* target
        const int64_t* source
    if first == NONE or room == 0:
        return 0
    day = <int32_t> (first // DAY)
    month = month_of(day)
    if c.per_day == 1:
        out[0] = first * 1000
        n = 1
    else:
        n = fill_day(c, day, <int32_t> (first - <int64_t> day * DAY), out, room)
    # What is left of the month: the days above this one.
    days = c.days[month_shape[month]] & (0xFFFFFFFEu << (day - month_start[month]))
    while n < room:
        while days and n < room:
            day = month_start[month] + LOWEST_BIT(days)
            days &= days - 1
            if c.per_day == 1:
                out[n] = (<int64_t> day * DAY + c.first_time) * 1000
                n += 1
            elif pattern < 0:
                pattern, pattern_day = n, day
                n += fill_day(c, day, 0, out + n, room - n)
            else:
                # Every whole day holds the same times: it is the last whole one, shifted.
                take = c.per_day if c.per_day < room - n else room - n
                shift = <int64_t> (day - pattern_day) * (DAY * 1000)
                target, source = out + n, out + pattern
                for i in range(take):
                    target[i] = source[i] + shift
                pattern, pattern_day = n, day
                n += take
        month = month_from(c, month + 1)
        if month == MONTHS:
            break
        days = c.days[month_shape[month]]
    return n


cdef inline int64_t whole_unit(int64_t origin_ms, int64_t width_ms) noexcept nogil:
    """Longest of day, hour, minute, second (in s) that no edge of a bin cuts apart.

    Ticks are whole seconds, so an edge within a second cuts none.
    """
    if origin_ms % (DAY * 1000) == 0 and width_ms % (DAY * 1000) == 0:
        return DAY
    if origin_ms % 3600000 == 0 and width_ms % 3600000 == 0:
        return 3600
    if origin_ms % 60000 == 0 and width_ms % 60000 == 0:
        return 60
    return 1


cdef int64_t tally(
    const Compiled* c, int64_t first, int64_t last,
    int64_t origin_ms, int64_t width_ms, int64_t weight, int64_t* out
) noexcept nogil:
    """Add the ticks of the closed window [first, last] of seconds to bins; how many.

    All ticks of a unit that no edge cuts fall into one bin, and a product of bit counts
    tells how many they are: a minute or an hour is one addition, a day too.
    """
    cdef:
        int64_t unit = whole_unit(origin_ms, width_ms), head, tail, base, t, n = 0, part, bin = 0
        int64_t bin_end = 0                 # ms; ticks ascend, so one division a bin is enough
        int64_t[60] seconds
        int64_t[60] minutes
        int64_t[24] hours
        int32_t[1440] units                 # of the day, counted in `unit` (minutes under 60)
        int i, j, k = 0, per_unit = c.per_day, per_minute = 1
        int n_hours = expand(c.bits[HOUR], 1, hours), n_minutes
        int listed, month
        uint32_t days
    if last >= END:
        last = END - 1
    if first > last:
        return 0
    head = (first + unit - 1) // unit * unit
    tail = (last + 1) // unit * unit
    if head > tail:                         # within one unit
        n = count(c, first, last)
        out[(first * 1000 - origin_ms) // width_ms] += n * weight
        return n
    if first < head:
        n = count(c, first, head - 1)
        out[(first * 1000 - origin_ms) // width_ms] += n * weight
    if tail <= last:
        part = count(c, tail, last)
        out[(tail * 1000 - origin_ms) // width_ms] += part * weight
        n += part
    if head == tail:
        return n
    # The units of a day that have ticks: the same on every day of the window.
    seconds[0] = 0
    if unit == DAY:
        units[0], k = 0, 1
    elif unit == 3600:
        per_unit = c.per_day // n_hours
        for k in range(n_hours):
            units[k] = <int32_t> hours[k]
        k = n_hours
    else:
        n_minutes = expand(c.bits[MINUTE], 1, minutes)
        for i in range(n_hours):
            for j in range(n_minutes):
                units[k] = <int32_t> (hours[i] * 60 + minutes[j])
                k += 1
        per_unit = BIT_COUNT(c.bits[SECOND])
        if unit == 1:
            per_unit, per_minute = 1, expand(c.bits[SECOND], 1, seconds)
    month = month_of(<int32_t> (head // DAY))
    listed = month_from(c, month)
    while listed < MONTHS and <int64_t> month_start[listed] * DAY < tail:
        days = c.days[month_shape[listed]]
        if listed == month:
            days &= 0xFFFFFFFFu << (head // DAY - month_start[month])
        while days:
            base = <int64_t> (month_start[listed] + LOWEST_BIT(days)) * DAY
            days &= days - 1
            if base >= tail:
                break
            if width_ms == unit * 1000 and unit > 1 and base >= head and base + DAY <= tail:
                # A whole day of bins of one unit each: the bin's number is the unit's.
                bin = base // unit - origin_ms // width_ms
                for i in range(k):
                    out[bin + units[i]] += per_unit * weight
                n += <int64_t> k * per_unit
                continue
            for i in range(k):
                for j in range(per_minute):
                    t = base + units[i] * (60 if unit == 1 else unit) + seconds[j]
                    if t < head or t >= tail:
                        continue
                    if t * 1000 >= bin_end:
                        bin = (t * 1000 - origin_ms) // width_ms
                        bin_end = origin_ms + (bin + 1) * width_ms
                    out[bin] += per_unit * weight
                    n += per_unit
        listed = month_from(c, listed + 1)
    return n


# --- 2c. The readers of the two grammars -------------------------------------------------

cdef enum Trouble:
    FINE
    EMPTY
    TOO_FEW          # the text ends before its day of week
    TOO_MANY         # text is left after the last field
    UNREADABLE       # nothing of the grammar begins here
    OUTSIDE          # a value beyond the bounds of its field
    DESCENDS
    STEP_ZERO
    STEP_LARGE       # 2**32 or more; Quartz bounds the steps of */n and a/n further
    NO_NAMES         # a name in a field of numbers
    UNKNOWN_NAME
    NAME_STEP        # MON/2
    SHORTHAND        # no shorthand that the dialect has
    NOT_TEXT         # a lone surrogate
    NO_MARK          # Quartz: neither day field is ?
    TWO_MARKS

cdef struct Reader:
    const uint8_t* text
    Py_ssize_t size, at
    int field
    bint quartz
    Trouble trouble
    int64_t low, high, step     # the values in trouble
    Py_ssize_t stop             # how far the reader had come
    Py_ssize_t base             # where in the source's UTF-8 the text begins; -2 under a "0 "
    Py_ssize_t[7] starts
    Py_ssize_t[7] stops


cdef bint fail(
    Reader* r, Trouble trouble, Py_ssize_t at, int64_t low=0, int64_t high=0
) noexcept nogil:
    r.trouble, r.stop, r.at, r.low, r.high = trouble, r.at, at, low, high
    return False


cdef inline int peek(const Reader* r) noexcept nogil:
    return r.text[r.at] if r.at < r.size else 0


cdef inline bint is_blank(int c) noexcept nogil:
    return c == 32 or c == 9 or c == 13 or c == 10


cdef inline void skip_blanks(Reader* r) noexcept nogil:
    while r.at < r.size and is_blank(r.text[r.at]):
        r.at += 1


cdef inline bint is_letter(int c) noexcept nogil:
    return 97 <= (c | 32) <= 122


cdef bint read_number(Reader* r, int64_t* value) noexcept nogil:
    """Digits, at most 2**32, which is too much for every field and every step.

    In the server's grammar blanks may stand around them.
    """
    cdef Py_ssize_t start
    cdef int64_t n = 0
    if not r.quartz:
        skip_blanks(r)
    start = r.at
    while 48 <= peek(r) <= 57:
        n = n * 10 + peek(r) - 48
        if n >> 32:
            n = <int64_t> 1 << 32
        r.at += 1
    if r.at == start:
        return False
    if not r.quartz:
        skip_blanks(r)
    value[0] = n
    return True


cdef int NAME_SIZES = 9
# Flat, NAME_SIZES bytes a name, so that a name is found by its number.
cdef const char* MONTH_NAMES = (
    b"january\0\0" b"february\0" b"march\0\0\0\0" b"april\0\0\0\0"
    b"may\0\0\0\0\0\0" b"june\0\0\0\0\0" b"july\0\0\0\0\0" b"august\0\0\0"
    b"september" b"october\0\0" b"november\0" b"december\0"
)
cdef const char* DAY_NAMES = (
    b"sunday\0\0\0" b"monday\0\0\0" b"tuesday\0\0" b"wednesday"
    b"thursday\0" b"friday\0\0\0" b"saturday\0"
)


cdef int named_value(int field, const uint8_t* word, Py_ssize_t size, bint full) noexcept nogil:
    """Value of a name, short or (where `full`) also whole; 0 if it is none."""
    cdef:
        const char* names = MONTH_NAMES if field == MONTH else DAY_NAMES
        const char* name
        int i, j, n = 12 if field == MONTH else 7
    if size < 3 or size > NAME_SIZES:
        return 0
    for i in range(n):
        name = names + i * NAME_SIZES
        j = 0
        while j < size and (word[j] | 32) == name[j]:
            j += 1
        if j < size:
            continue
        if size == 3:
            return i + 1
        if not full:
            return 0
        if size == NAME_SIZES or name[size] == 0:
            return i + 1
        # The crate knows three longer short forms: tues, thur is none of them, thurs is.
        if field == DAY_OF_WEEK and ((i == 2 and size == 4) or (i == 4 and size == 5)):
            return i + 1
        return 0
    return 0


cdef bint read_name(Reader* r, int64_t* value) noexcept nogil:
    cdef Py_ssize_t start
    if not r.quartz:
        skip_blanks(r)
    start = r.at
    while is_letter(peek(r)):
        r.at += 1
    if r.at == start:
        return fail(r, UNREADABLE, start)
    if r.field != MONTH and r.field != DAY_OF_WEEK:
        return fail(r, NO_NAMES, start)
    value[0] = named_value(r.field, r.text + start, r.at - start, not r.quartz)
    if value[0] == 0:
        return fail(r, UNKNOWN_NAME, start)
    if not r.quartz:
        skip_blanks(r)
    return True


cdef inline int64_t highest_of(const Reader* r) noexcept nogil:
    # Quartz ends a year earlier than the crate.
    return HIGHEST[r.field] - 1 if r.quartz and r.field == YEAR else HIGHEST[r.field]


cdef bint add_values(
    Reader* r, uint64_t* bits, Py_ssize_t start, int64_t low, int64_t high, int64_t step
) noexcept nogil:
    """Put low, low + step, ... up to high into the field's set."""
    cdef:
        int64_t lowest = LOWEST[r.field], highest = highest_of(r)
        int64_t size = highest - lowest + 1, i
    if low < lowest or low > highest:
        return fail(r, OUTSIDE, start, low)
    if high < lowest or high > highest:
        return fail(r, OUTSIDE, start, high)
    if step == 0:
        return fail(r, STEP_ZERO, start)
    if low > high:
        if not r.quartz or r.field == YEAR:
            r.step = step
            return fail(r, DESCENDS, start, low, high)
        high += size
    low -= lowest
    high -= lowest
    while low <= high:
        # Once past the field's end, a wrapped range goes on at its beginning.
        i = low if low < size else low - size
        bits[i >> 6] |= <uint64_t> 1 << (i & 63)
        low += step
    return True


cdef inline bint is_day_field(int field) noexcept nogil:
    return field == DAY_OF_MONTH or field == DAY_OF_WEEK


cdef bint read_item(Reader* r, uint64_t* bits) noexcept nogil:
    """One item of a list: * ? a a-b NAME NAME-NAME, with a step where one may stand."""
    cdef:
        Py_ssize_t start = r.at
        int64_t low = LOWEST[r.field], high = highest_of(r), step = 1
        bint open_ended = True
    if peek(r) == c'*' or (peek(r) == c'?' and is_day_field(r.field) and not r.quartz):
        r.at += 1
    elif read_number(r, &low):
        if peek(r) == c'-':
            r.at += 1
            open_ended = False
            if not read_number(r, &high):
                return fail(r, UNREADABLE, r.at)
        elif peek(r) != c'/':
            high = low
    else:
        r.at = start
        if not read_name(r, &low):
            return False
        high = low
        if peek(r) == c'-':
            r.at += 1
            open_ended = False
            if not read_name(r, &high):
                return False
        if peek(r) == c'/' and (r.quartz or open_ended):
            return fail(r, NAME_STEP, start)
    if peek(r) == c'/':
        r.at += 1
        if not read_number(r, &step):
            return fail(r, UNREADABLE, r.at)
        if step >> 32:
            return fail(r, STEP_LARGE, start, 0, (<int64_t> 1 << 32) - 1)
        if r.quartz and open_ended and r.field != YEAR and step > HIGHEST[r.field]:
            return fail(r, STEP_LARGE, start, 0, HIGHEST[r.field])
    return add_values(r, bits, start, low, high, step)


cdef bint read_list(Reader* r, uint64_t* bits) noexcept nogil:
    r.starts[r.field] = r.at
    while True:
        if not read_item(r, bits):
            return False
        if peek(r) != c',':
            break
        r.at += 1
    r.stops[r.field] = r.at
    return True


cdef inline void allow_all(Compiled* c, int last_year) noexcept nogil:
    cdef int i
    for i in range(last_year - FIRST_YEAR + 1):
        c.years[i >> 6] |= <uint64_t> 1 << (i & 63)


cdef bint read_crate(Reader* r, Compiled* c) noexcept nogil:
    """The grammar of the server's crate: a field ends where no more of it can be read."""
    for r.field in range(YEAR):
        if r.at == r.size:
            return fail(r, TOO_FEW, r.at)
        if not read_list(r, &c.bits[r.field]):
            return False
        skip_blanks(r)
    r.field = YEAR
    if r.at == r.size:
        allow_all(c, LAST_YEAR)
        return True
    if not read_list(r, c.years):
        return False
    skip_blanks(r)
    return r.at == r.size or fail(r, TOO_MANY, r.at)


cdef bint read_quartz_days(Reader* r, Compiled* c, bint* special) noexcept nogil:
    """The rules that stand alone in a day field; `special` tells whether one was read."""
    cdef:
        Py_ssize_t start = r.at
        int64_t n = 0, k
        int letter = peek(r) & ~32
    special[0] = True
    r.starts[r.field], r.stops[r.field] = start, r.size
    if r.field == DAY_OF_MONTH:
        if letter == c'L':
            r.at += 1
            c.rule = LAST
            if peek(r) == c'-':
                r.at += 1
                if not read_number(r, &n):
                    return fail(r, UNREADABLE, r.at)
                if n > 30:
                    return fail(r, OUTSIDE, start, n)
        elif read_number(r, &n) and (peek(r) & ~32) == c'W':
            if n < 1 or n > 31:
                return fail(r, OUTSIDE, start, n)
            c.rule = WEEKDAY
            r.at += 1
        else:
            r.at = start
            special[0] = False
            return True
        if c.rule == LAST and (peek(r) & ~32) == c'W':
            c.rule = LAST_WEEKDAY
            r.at += 1
        c.rule_n = <uint8_t> n
        return r.at == r.size or fail(r, UNREADABLE, r.at)
    if letter == c'L' and r.size == start + 1:
        r.at += 1
        return add_values(r, &c.bits[DAY_OF_WEEK], start, 7, 7, 1)
    if is_letter(letter):
        n = named_value(DAY_OF_WEEK, r.text + start, 3 if r.size - start >= 3 else 0, False)
        r.at += 3
    elif read_number(r, &n) and (n < 1 or n > 7) and ((peek(r) & ~32) == c'L' or peek(r) == c'#'):
        return fail(r, OUTSIDE, start, n)
    if n and r.at <= r.size and peek(r) & ~32 == c'L' and r.at + 1 == r.size:
        c.rule, c.rule_n = LAST_NAMED, <uint8_t> n
        r.at += 1
        return True
    if n and r.at <= r.size and peek(r) == c'#':
        r.at += 1
        if not read_number(r, &k) or r.at != r.size:
            return fail(r, UNREADABLE, r.at)
        if k < 1 or k > 5:
            return fail(r, OUTSIDE, start, k)
        c.rule, c.rule_n, c.rule_k = NTH_NAMED, <uint8_t> n, <uint8_t> k
        return True
    r.at = start
    special[0] = False
    return True


cdef bint read_quartz(Reader* r, Compiled* c) noexcept nogil:
    """Quartz's documented grammar: 6 or 7 fields, each ended by blanks."""
    cdef:
        Py_ssize_t end = r.size, stop
        int marks = 0
        bint special
        uint64_t* bits
    for r.field in range(7):
        r.size = end
        skip_blanks(r)
        if r.at == end:
            break
        stop = r.at
        while stop < end and not is_blank(r.text[stop]):
            stop += 1
        r.size = stop
        bits = &c.years[0] if r.field == YEAR else &c.bits[r.field]
        special = False
        if is_day_field(r.field):
            if peek(r) == c'?' and stop == r.at + 1:
                r.starts[r.field], r.stops[r.field] = r.at, stop
                r.at = stop
                marks += 1
                bits[0] = 0x7F if r.field == DAY_OF_WEEK else 0x7FFFFFFF
                if marks == 2:
                    return fail(r, TWO_MARKS, stop - 1)
                continue
            if not read_quartz_days(r, c, &special):
                return False
            if special and bits[0] == 0:
                bits[0] = 0x7F if r.field == DAY_OF_WEEK else 0x7FFFFFFF
        if not special and not read_list(r, bits):
            return False
        if r.at != stop:
            return fail(r, UNREADABLE, r.at)
    else:
        r.size = end
        skip_blanks(r)
        if r.at != end:
            return fail(r, TOO_MANY, r.at)
        r.field = 7
    if r.field < YEAR:
        return fail(r, TOO_FEW, r.at)
    if r.field == YEAR:
        allow_all(c, LAST_YEAR - 1)
    if marks == 0:
        r.field = DAY_OF_WEEK
        return fail(r, NO_MARK, r.starts[DAY_OF_WEEK])
    return True


cdef int unicode_space(const uint8_t* s, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """Bytes of the Unicode white space that begins at i of a UTF-8 text, or 0."""
    cdef int a = s[i], b, c
    if 9 <= a <= 13 or a == 32:
        return 1
    if a < 0xC2 or i + 1 >= n:
        return 0
    b = s[i + 1]
    if a == 0xC2:
        return 2 if b == 0x85 or b == 0xA0 else 0
    if i + 2 >= n:
        return 0
    c = s[i + 2]
    if (a == 0xE1 and b == 0x9A and c == 0x80) or (a == 0xE3 and b == 0x80 and c == 0x80):
        return 3
    if a == 0xE2 and b == 0x80 and (0x80 <= c <= 0x8A or c == 0xA8 or c == 0xA9 or c == 0xAF):
        return 3
    return 3 if a == 0xE2 and b == 0x81 and c == 0x9F else 0


cdef int count_pieces(
    const uint8_t* s, Py_ssize_t n, Py_ssize_t* first, Py_ssize_t* last
) noexcept nogil:
    """Number of pieces between runs of white space, and the bounds of the trimmed text."""
    cdef:
        Py_ssize_t i = 0
        int pieces = 0, space
        bint inside = False
    first[0] = last[0] = 0
    while i < n:
        space = unicode_space(s, i, n)
        if space:
            inside = False
            i += space
            continue
        if not inside:
            inside = True
            if pieces == 0:
                first[0] = i
            pieces += 1
        i += 1
        last[0] = i
    return pieces


# --- 3. The face ---------------------------------------------------------------------------

FIELDS = ("seconds", "minutes", "hours", "day-of-month", "month", "day-of-week", "year")
SHORTHANDS = {
    "@yearly": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * SUN",
    "@daily": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
cdef dict SHORTHAND_BYTES = {k.encode(): v.encode() for k, v in SHORTHANDS.items()}
# What other schedulers call them.
cdef dict OTHER_SHORTHANDS = {"@annually": "@yearly", "@midnight": "@daily"}
cdef tuple WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class CronError(ValueError):
    """A cron text that its dialect refuses.

    Attributes
    ----------
    expression : str
        the whole text
    field : str or None
        one of "seconds", "minutes", "hours", "day-of-month", "month", "day-of-week", "year"
    token : str or None
        the item at fault, as it stands in the text
    position : int or None
        index of the token in `expression`, from 0
    """

    def __init__(self, message, expression="", field=None, token=None, position=None):
        super().__init__(message)
        self.expression = expression
        self.field = field
        self.token = token
        self.position = position

    def __reduce__(self):
        return type(self), (self.args[0], self.expression, self.field, self.token, self.position)


cdef int parse(str text, str dialect, Reader* r, Compiled* form) except -1:
    """Read a text into a form; `r.trouble` tells how it went."""
    cdef:
        const uint8_t* source
        uint8_t* joined
        uint8_t[128] small
        Py_ssize_t size, first, last
        int pieces
    memset(form, 0, sizeof(Compiled))
    memset(r, 0, sizeof(Reader))
    r.quartz = dialect == "quartz"
    form.starts_midyear = dialect == "resonate-0.9.8"
    try:
        source = <const uint8_t*> PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        r.trouble = NOT_TEXT
        return 0
    pieces = count_pieces(source, size, &first, &last)
    r.text, r.size, r.base = source + first, last - first, first
    if pieces == 0:
        r.trouble = EMPTY
    elif r.text[0] == c"@":
        longhand = None if r.quartz else SHORTHAND_BYTES.get(<bytes> source[first:last])
        if longhand is None:
            r.trouble = SHORTHAND
        else:
            r.text, r.size = longhand, len(<bytes> longhand)
            read_crate(r, form)
    elif r.quartz:
        read_quartz(r, form)
    elif pieces == 5:
        # The server puts "0 " in front, character for character: ",5 ** * * *" becomes
        # the seconds 0 and 5 and five more fields.
        joined = &small[0] if r.size + 2 <= 128 else <uint8_t*> PyMem_Malloc(r.size + 2)
        if joined == NULL:
            raise MemoryError
        joined[0], joined[1] = c"0", c" "
        memcpy(joined + 2, r.text, r.size)
        r.text, r.size, r.base = joined, r.size + 2, first - 2
        read_crate(r, form)
        if joined != &small[0]:
            PyMem_Free(joined)
    else:
        read_crate(r, form)
    r.text = NULL      # what it pointed to may be gone
    return 0


cdef bint takes(str text, str dialect) except -1:
    cdef:
        Reader r
        Compiled form
    parse(text, dialect, &r, &form)
    return r.trouble == FINE


# --- 3a. What to say about a text that is refused ------------------------------------------

cdef str shown(str text):
    """The repr of a text, cut off where it is long."""
    cut = 60
    while len(repr(text[:cut])) > 80:       # control characters take four places and more
        cut //= 2
    return repr(text) if len(text) <= cut else f"{text[:cut]!r}... ({len(text):,} characters)"


cdef str brief(object value):
    """The repr of a value of a wrong type, and the type."""
    text = repr(value)
    if len(text) > 60:
        text = f"{text[:50]}..."
    return f"{text} of type {type(value).__name__}"


cdef str bounds_of(int field, bint quartz):
    if field == MONTH:
        return "1-12 or JAN-DEC"
    if field == DAY_OF_WEEK:
        return "1-7 (1=SUN) or SUN-SAT"
    return f"{LOWEST[field]}-{HIGHEST[field] - (1 if quartz and field == YEAR else 0)}"


cdef str ascending(int field, int64_t low, int64_t high, int64_t step):
    """What a descending range was meant to hold, written so that every dialect reads it."""
    cdef int64_t lowest = LOWEST[field], highest = HIGHEST[field], size = highest - lowest + 1
    if field == YEAR:
        return f"{high}-{low}" if step == 1 else f"{high}-{low}/{step}"
    if field != DAY_OF_WEEK and step == 1:
        upper = f"{low}-{highest}" if low < highest else f"{low}"
        lower = f"{lowest}-{high}" if high > lowest else f"{high}"
        return f"{upper},{lower}"
    values = [lowest + (v - lowest) % size for v in range(low, high + size + 1, step)]
    return ",".join([WEEKDAYS[v - 1] if field == DAY_OF_WEEK else str(v) for v in values])


cdef Py_ssize_t characters(str text, const Reader* r, Py_ssize_t at) except -1:
    """The index in the text of what the reader has at offset `at`."""
    return len(text.encode()[:max(r.base + at, 0)].decode("utf-8", "ignore"))


cdef tuple item_read(str text, const Reader* r):
    """The item of the server's grammar that was just read, and where it begins."""
    cdef Py_ssize_t start = characters(text, r, r.at)
    item = text[start:characters(text, r, r.stop)]
    return item.strip(), start + len(item) - len(item.lstrip())


cdef tuple item_at(str text, const Reader* r):
    """The item between blanks and commas where the reader stumbled, and where it begins."""
    cdef Py_ssize_t start = characters(text, r, r.at), stop, size = len(text)
    while not r.quartz and start < size and text[start] in " \t\r\n":
        start += 1
    stop = start
    while start > 0 and text[start - 1] not in " \t\r\n,":
        start -= 1
    while stop < size and text[stop] not in " \t\r\n,":
        stop += 1
    return text[start:stop], start


cdef tuple stray_sign(str text):
    """The first piece that begins or ends with a sign which wants a value on both sides.

    The piece, where it begins, and "before" or "after", the side without a value.
    """
    cdef Py_ssize_t start = 0
    for piece in text.split():
        start = text.find(piece, start)
        if piece[0] in ",-/":
            return piece, start, "before"
        if piece[-1] in ",-/":
            return piece, start, "after"
        start += len(piece)
    return None


cdef tuple sign_before(str text, Py_ssize_t start):
    """The piece before a blank that ends with such a sign, likewise; or None."""
    pieces = text[:start].split()
    if not pieces or not text[start - 1].isspace() or pieces[-1][-1] not in ",-/":
        return None
    return pieces[-1], text.rindex(pieces[-1], 0, start), "after"


cdef str squeezed(list pieces):
    """The text without the blanks beside its commas, hyphens and slashes."""
    parts = pieces[:1]
    for before, piece in zip(pieces, pieces[1:]):
        parts.append("" if piece[0] in ",-/" or before[-1] in ",-/" else " ")
        parts.append(piece)
    return "".join(parts)


cdef str marked(str text):
    """A text of 6 or 7 fields with ``?`` in exactly one day field, where one of them is free."""
    parts = text.split()
    if len(parts) in (6, 7):
        if parts[3] == parts[5] == "?":
            parts[5] = "*"
        elif parts[5] == "*":
            parts[5] = "?"
        elif parts[3] == "*":
            parts[3] = "?"
    return " ".join(parts)


cdef str no_fields(str text, str dialect, int trouble, list pieces):
    """What is wrong with a text as a whole, and what to write."""
    expression = shown(text)
    wanted = f"dialect {dialect!r} takes " + (
        "6 or 7 fields, seconds first, such as '0 0 9 ? * MON-FRI'" if dialect == "quartz" else
        "5 fields, or 6 or 7 with the seconds first, such as '0 9 * * MON-FRI'"
    )
    if trouble == NOT_TEXT:
        return (
            f"cron expression {expression} holds a lone surrogate, which is no character; "
            "write it in ASCII"
        )
    if trouble == SHORTHAND:
        # What Python strips as blank and the server does not would make a good one of it.
        name = text if text.strip() in SHORTHANDS and dialect != "quartz" else text.strip()
        meant = OTHER_SHORTHANDS.get(name.lower(), name.lower())
        known = "none" if dialect == "quartz" else ", ".join(SHORTHANDS) + ", in lower case"
        if meant not in SHORTHANDS:
            instead = wanted
        else:
            instead = f"write {meant if dialect != 'quartz' else marked(SHORTHANDS[meant])!r}"
        unknown = f"is unknown to dialect {dialect!r}, which has {known}"
        return f"shorthand {shown(name)} {unknown}; {instead}"
    if not pieces:
        return f"cron expression {expression} is empty; {wanted}"
    plural = "" if len(pieces) == 1 else "s"
    return f"cron expression {expression} has {len(pieces)} field{plural}; {wanted}"


cdef tuple no_rule(int number):
    rules = "?, L, L-n, LW, L-nW and nW" if number == DAY_OF_MONTH else "?, L, nL and n#k"
    return (
        f"is no rule of this field, where {rules} stand, each alone",
        f"write one of them, or values from {bounds_of(number, True)}",
    )


cdef tuple wrong_value(const Reader* r, str token):
    """What is wrong with an item that was understood, and what to write."""
    cdef int number = r.field
    bounds = bounds_of(number, r.quartz)
    if r.trouble == DESCENDS:
        return (
            f"descends, and a range must ascend within {bounds}",
            f"write {ascending(number, r.low, r.high, r.step)!r}",
        )
    if r.trouble == STEP_ZERO:
        return f"has step 0, and the step within {bounds} is 1 or more", "write 1 or leave it out"
    if r.trouble == STEP_LARGE:
        kind = " after '*' or a single value" if r.high < 60 else ""
        return (
            f"has a step above {r.high}, the most that is taken{kind}",
            f"list the values, from {bounds}",
        )
    if r.quartz and number == DAY_OF_WEEK and token[-1] in "Ww":
        return no_rule(number)
    if r.quartz and number == DAY_OF_MONTH and token[:2] in ("L-", "l-"):
        return (
            "goes back from the last day of the month by more than 0-30",
            "write 'L-3' for three days before it",
        )
    if r.quartz and number == DAY_OF_WEEK and "#" in token:
        return (
            f"is outside {bounds} before its '#' or 1-5 after it",
            "write 'MON#1' for the first Monday",
        )
    instead = "write a value in that range"
    if number == DAY_OF_WEEK and r.low == 0:
        instead = "write SUN or 1 for Sunday"
    elif number == HOUR and r.low == 24:
        instead = "write 0 for midnight"
    return f"{'is' if token.isdigit() else 'reaches'} outside {bounds}", instead


cdef tuple unreadable(const Reader* r, int number, str token, str dialect):
    """What is wrong with an item that is none of the grammar, and what to write."""
    cdef bint day_field = is_day_field(number), quartz = r.quartz
    bounds = bounds_of(number, quartz)
    values = f"write values from {bounds}"
    odd = [c for c in token if not (c.isascii() and c.isprintable())]
    if odd:
        return (
            f"holds {odd[0]!r}, and a cron expression is printable ASCII",
            f"write '*' or {bounds}",
        )
    if not quartz and day_field:
        other = f"0 0 0 {token} * ?" if number == DAY_OF_MONTH else f"0 0 0 ? * {token}"
        if takes(other, "quartz"):
            return (
                f"is a rule of dialect 'quartz' (L, W or #) that dialect {dialect!r} lacks",
                f"{values}, or use dialect 'quartz'",
            )
    if "?" in token and not day_field:
        return "holds '?', which stands only in the two day fields", f"write '*' or {bounds}"
    like_a_rule = "?" in token or "#" in token or token[0] in "Ll" or token[-1] in "LlWw"
    if quartz and day_field and like_a_rule:
        return no_rule(number)
    if token.startswith(("TZ=", "CRON_TZ=")):
        return "names a time zone, and all cron expressions here are in UTC", "leave it out"
    if token.startswith("#"):
        return "begins a comment, and a cron expression has none", "leave it out"
    if token.startswith(("-", "/")) or token.endswith(("-", "/")):
        side = "before" if token[0] in "-/" else "after"
        return f"has no value {side} its {token[0 if side == 'before' else -1]!r}", values
    low, _, high = token.partition("-")
    if (low.isalpha() and high.isdigit()) or (low.isdigit() and high.isalpha()):
        return (
            "is a range from a name to a number or the reverse",
            f"write two names or two numbers, from {bounds}",
        )
    if r.trouble == NAME_STEP:
        return (
            f"has a step after a name, and a step follows '*', a number or a range within {bounds}",
            "list the names",
        )
    if r.trouble == NO_NAMES or (r.trouble == UNKNOWN_NAME and number not in (MONTH, DAY_OF_WEEK)):
        return "holds a name, and this is a field of numbers", values
    if r.trouble == UNKNOWN_NAME:
        more = "" if quartz else ", or the full English name"
        return "is no name of this field", f"write {bounds}{more}"
    return (
        "cannot be read",
        f"write '*', values from {bounds}, ranges a-b, steps */n, a/n or a-b/n, or a list of these",
    )


cdef str repaired(str text, str dialect, list pieces):
    """A text near to this one that the dialect takes, or None."""
    if len(text) > 60:
        return None
    nearest = [squeezed(pieces)]
    if dialect == "quartz":
        nearest.append(marked(text))
    elif len(pieces) == 6:
        nearest.append("0 " + " ".join(pieces))
    for instead in nearest:
        if takes(instead, dialect):
            return instead
    return None


cdef object refusal(str text, str dialect, const Reader* r):
    """The CronError for what the reader stumbled over: one sentence, and where."""
    cdef:
        int trouble = r.trouble, number = min(r.field, YEAR)
        bint quartz = r.quartz
        bint counted = trouble == TOO_FEW or (quartz and trouble == TOO_MANY)
        bint understood = trouble in (OUTSIDE, DESCENDS, STEP_ZERO, STEP_LARGE)
        bint joined = understood and number == SECOND and r.base < 0    # to the "0 " in front
    pieces = text.split()
    if trouble in (NOT_TEXT, SHORTHAND, EMPTY) or not pieces:
        message = no_fields(text, dialect, trouble, pieces)
        if trouble == SHORTHAND:
            return CronError(message, text, None, text.strip(), text.find("@"))
        return CronError(message, text)

    instead = repaired(text, dialect, pieces)
    stray = stray_sign(text) if counted or joined or instead == squeezed(pieces) else None
    if counted and instead is None and (quartz or stray is None or len(pieces) < 5):
        return CronError(no_fields(text, dialect, trouble, pieces), text)

    token, start = item_read(text, r) if understood and not quartz else item_at(text, r)
    if trouble == TOO_MANY and (not token or start < characters(text, r, r.at)):
        trouble = UNREADABLE        # what follows is the rest of an item
    if stray is None and instead is None and not understood:
        stray = sign_before(text, start)
    if stray is not None:
        token, start, side = stray
    if not quartz and 5 <= len(pieces) <= 7 and (joined or not understood):
        # The reader of the crate names the field that it stumbled in; a person counts pieces.
        # At least 0: what Python takes for a blank may be the server's first piece.
        number = len(text[:start + 1].split()) - (0 if len(pieces) == 5 else 1)
        number = min(max(number, 0), YEAR)
    field, bounds = FIELDS[number], bounds_of(number, quartz)
    if stray is not None:
        what = f"has no value {side} its {token[0 if side == 'before' else -1]!r}"
        advice = f"write values from {bounds} on both sides, without blanks"
    elif understood:
        what, advice = wrong_value(r, token)
    elif trouble in (NO_MARK, TWO_MARKS):
        field = FIELDS[DAY_OF_WEEK]
        what = "breaks the rule that exactly one of day-of-month and day-of-week is '?'"
        advice = "write '?' in the one that does not matter, as in '0 0 9 ? * MON-FRI'"
    elif trouble == TOO_MANY:
        what = f"follows the last of 7 fields, the most that dialect {dialect!r} takes"
        advice = "leave it out"
    elif token:
        what, advice = unreadable(r, number, token, dialect)
    else:
        what = f"has no value beside the ',' at position {start}"
        advice = f"write values from {bounds} on both sides"
        while start and not text[start - 1].isspace():
            start -= 1
        token = text[start:].split()[0]
    if instead is not None:
        advice = f"write {instead!r}"
        if not quartz and instead != squeezed(pieces):
            what += " where six fields begin with the seconds"
    message = f"{field} token {shown(token)} (position {start} of {shown(text)}) {what}; {advice}"
    return CronError(message, text, field, token, start)


cdef inline int64_t instant(object value, str name) except? -2:
    """An int of ms in [-1, end of the calendar], or the error that says what it must be."""
    cdef int overflow = 0
    cdef int64_t ms
    if not PyLong_CheckExact(value):
        # operator.index takes numpy's integers and refuses floats, but lets a bool through.
        try:
            if PyBool_Check(value) or type(value).__name__ in ("bool_", "bool"):
                raise TypeError
            value = PyNumber_Index(value)
        except TypeError:
            raise TypeError(
                f"{name} is {brief(value)}; give an int, ms since the Unix epoch, UTC"
            ) from None
    ms = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or ms < -1 or ms > MAX_INSTANT:
        # Python refuses to write out an int of more than 4300 digits.
        given = f"of {value.bit_length()} bits" if overflow else value
        raise ValueError(
            f"{name} {given} is outside the calendar; give ms since the Unix epoch, UTC, "
            f"from 0 (1970-01-01) to {MAX_INSTANT} (2101-01-01)"
        )
    return ms


cdef int64_t whole(object value, str name, int64_t lowest, int64_t highest) except? -2:
    """An int in [lowest, highest], or the error that says so."""
    cdef int overflow = 0
    cdef int64_t n
    try:
        # As for an instant: numpy's integers pass, floats and bools do not.
        if PyBool_Check(value) or type(value).__name__ in ("bool_", "bool"):
            raise TypeError
        value = PyNumber_Index(value)
    except TypeError:
        raise TypeError(
            f"{name} is {brief(value)}; give an int from {lowest} to {highest}"
        ) from None
    n = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or n < lowest or n > highest:
        given = f"of {value.bit_length()} bits" if overflow else value
        raise ValueError(f"{name} is {given}; give an int from {lowest} to {highest}")
    return n


cdef int open_ticks(object out, Py_buffer* view) except -1:
    """Open a buffer of int64 for writing, or raise; the caller releases it."""
    try:
        PyObject_GetBuffer(out, view, PyBUF_CONTIG | PyBUF_FORMAT)
    except (TypeError, ValueError, BufferError) as err:
        raise TypeError(
            f"out is a {type(out).__name__} that cannot be filled ({str(err).rstrip('.')}); "
            "give a writable contiguous buffer of int64, such as a numpy array"
        ) from None
    cdef bint askew = view.len > 0 and <size_t> view.buf % 8 != 0
    if view.itemsize != 8 or view.format == NULL or askew or (
        strcmp(view.format, "q") != 0 and strcmp(view.format, "l") != 0
    ):
        kind = "B" if view.format == NULL else view.format.decode()
        PyBuffer_Release(view)
        raise TypeError(
            f"out is a {type(out).__name__} with items of format {kind!r}; "
            "give a writable contiguous buffer of int64, such as a numpy array"
        )
    return 0


cdef class Cron:
    """A compiled cron expression; immutable, and equal where text and dialect are.

    Parameters
    ----------
    text : str
        the expression
    dialect : str, default "resonate"
        one of `DIALECTS`

    Raises
    ------
    CronError
        the dialect refuses the text
    TypeError
        text or dialect is no str
    ValueError
        dialect is none of `DIALECTS`

    Notes
    -----
    Instants are int, ms since the Unix epoch, UTC, from -1 to `END_MS` (2101-01-01); bool
    and float raise TypeError, others ValueError. Ticks are multiples of 1000.
    """

    cdef Compiled form
    cdef readonly str text
    cdef readonly str dialect

    def __cinit__(self, text, dialect="resonate"):
        cdef Reader r
        if not isinstance(text, str):
            raise TypeError(
                f"a cron expression is {brief(text)}; give a str such as '0 9 * * MON-FRI'"
            )
        if not isinstance(dialect, str) or dialect not in DIALECTS:
            known = ", ".join(map(repr, DIALECTS))
            if isinstance(dialect, str):
                raise ValueError(f"dialect {shown(dialect)} is unknown; give one of {known}")
            raise TypeError(f"dialect is {brief(dialect)}; give one of {known}")
        self.text = PyUnicode_FromObject(text)      # a plain str, also from a subclass
        self.dialect = DIALECTS[DIALECTS.index(dialect)]
        parse(self.text, self.dialect, &r, &self.form)
        if r.trouble != FINE:
            raise refusal(self.text, self.dialect, &r)
        finish(&self.form)

    def __reduce__(self):
        return type(self), (self.text, self.dialect)

    def __hash__(self):
        return hash((self.text, self.dialect))

    def __eq__(self, other):
        if not isinstance(other, Cron):
            return NotImplemented
        return self.text == (<Cron> other).text and self.dialect == (<Cron> other).dialect

    def __repr__(self):
        name = type(self).__name__
        if self.dialect == "resonate":
            return f"{name}({self.text!r})"
        return f"{name}({self.text!r}, dialect={self.dialect!r})"

    # -- what the text says ---------------------------------------------------------------

    cdef tuple values(self, int field):
        cdef const uint64_t* bits = &self.form.years[0] if field == YEAR else &self.form.bits[field]
        cdef int size = HIGHEST[field] - LOWEST[field] + 1
        return tuple([LOWEST[field] + i for i in range(size) if has(bits, i)])

    @property
    def seconds(self):
        """Allowed seconds, tuple of int in 0-59, ascending."""
        return self.values(SECOND)

    @property
    def minutes(self):
        """Allowed minutes, tuple of int in 0-59, ascending."""
        return self.values(MINUTE)

    @property
    def hours(self):
        """Allowed hours, tuple of int in 0-23, ascending."""
        return self.values(HOUR)

    @property
    def days_of_month(self):
        """Allowed days of month, tuple of int in 1-31; all of them under a `day_rule` or ``?``."""
        return self.values(DAY_OF_MONTH)

    @property
    def months(self):
        """Allowed months, tuple of int in 1-12, ascending."""
        return self.values(MONTH)

    @property
    def days_of_week(self):
        """Allowed weekdays, tuple of int, 1 = Sunday .. 7; all under a `day_rule` or ``?``."""
        return self.values(DAY_OF_WEEK)

    @property
    def years(self):
        """Allowed years, tuple of int in 1970-2100 (quartz: 2099), ascending."""
        return self.values(YEAR)

    @property
    def day_rule(self):
        """The Quartz rule of a day field, such as "L-3", "15W", "6L", "6#3"; or None."""
        rule, n, k = self.form.rule, self.form.rule_n, self.form.rule_k
        if rule == LISTED:
            return None
        if rule == WEEKDAY:
            return f"{n}W"
        if rule == LAST_NAMED:
            return f"{n}L"
        if rule == NTH_NAMED:
            return f"{n}#{k}"
        return ("L" if n == 0 else f"L-{n}") + ("W" if rule == LAST_WEEKDAY else "")

    @property
    def shorthand(self):
        """The shorthand that the text is, such as "@daily"; or None."""
        stripped = self.text.strip()
        return stripped if stripped.startswith("@") else None

    @property
    def field_texts(self):
        """The seven fields as written, tuple of str or None.

        None stands for seconds put in front of five fields, for a year left out, and for
        all seven of a shorthand.
        """
        cdef:
            Reader r
            Compiled form
        if self.shorthand is not None:
            return (None,) * 7
        parse(self.text, self.dialect, &r, &form)
        source = self.text.encode()
        # Under the "0 " put in front the seconds begin before the text does.
        spans = [(max(r.base + r.starts[i], 0), max(r.base + r.stops[i], 0)) for i in range(7)]
        return tuple([source[i:j].decode("utf-8", "ignore").strip() or None for i, j in spans])

    # -- ticks ------------------------------------------------------------------------------

    def next_ms(self, after_ms):
        """Return the first tick strictly after an instant, or None when there is none.

        Parameters
        ----------
        after_ms : int
            instant, ms since the Unix epoch, UTC

        Returns
        -------
        int or None
            ms since the Unix epoch, UTC; a multiple of 1000
        """
        cdef int64_t t = instant(after_ms, "after_ms")
        # t is at least -1, so this is floor(t / 1000) + 1 in unsigned-friendly form.
        t = tick_from(&self.form, start_of_search(&self.form, (t + 1000) // 1000))
        return None if t == NONE else t * 1000

    def prev_ms(self, before_ms):
        """Return the last tick strictly before an instant, or None when there is none.

        Parameters
        ----------
        before_ms : int
            instant, ms since the Unix epoch, UTC

        Returns
        -------
        int or None
            ms since the Unix epoch, UTC; a multiple of 1000
        """
        cdef int64_t t = instant(before_ms, "before_ms")
        t = tick_until(&self.form, (t - 1) // 1000) if t > 0 else NONE
        return None if t == NONE else t * 1000

    def matches_ms(self, at_ms):
        """Return whether an instant is a tick.

        Parameters
        ----------
        at_ms : int
            instant, ms since the Unix epoch, UTC

        Returns
        -------
        bool
        """
        cdef int64_t t = instant(at_ms, "at_ms")
        return t >= 0 and t % 1000 == 0 and tick_from(&self.form, t // 1000) == t // 1000

    def count_ms(self, start_ms, end_ms):
        """Return the number of ticks in the closed window [start_ms, end_ms].

        Parameters
        ----------
        start_ms, end_ms : int
            instants, ms since the Unix epoch, UTC

        Returns
        -------
        int

        Raises
        ------
        ValueError
            end_ms lies before start_ms

        Notes
        -----
        O(months of the window), however dense the expression is.
        """
        cdef:
            int64_t start = instant(start_ms, "start_ms"), end = instant(end_ms, "end_ms"), n
        if end < start:
            raise ValueError(
                f"end_ms {end} lies before start_ms {start}; give the earlier instant first"
            )
        if end < 0:
            return 0
        with nogil:
            n = count(&self.form, start_of_search(&self.form, (start + 999) // 1000), end // 1000)
        return n

    def remaining_ms(self, after_ms):
        """Return the number of ticks strictly after an instant.

        Parameters
        ----------
        after_ms : int
            instant, ms since the Unix epoch, UTC

        Returns
        -------
        int
        """
        cdef int64_t t = instant(after_ms, "after_ms"), n
        with nogil:
            n = count(&self.form, start_of_search(&self.form, (t + 1000) // 1000), END - 1)
        return n

    def fill_ms(self, after_ms, out):
        """Write the first ticks strictly after an instant into a buffer; return how many.

        Parameters
        ----------
        after_ms : int
            instant, ms since the Unix epoch, UTC
        out : writable contiguous buffer of int64, such as a numpy array
            filled from its beginning until it is full or no tick is left

        Returns
        -------
        int

        Raises
        ------
        TypeError
            out is no such buffer: no buffer at all, of another type, read-only, with gaps,
            or not aligned

        Notes
        -----
        The GIL is released while writing more than 128 ticks.
        """
        cdef:
            int64_t t = instant(after_ms, "after_ms"), n
            Py_buffer view
        open_ticks(out, &view)
        t = start_of_search(&self.form, (t + 1000) // 1000)
        if view.len <= 1024:     # giving the lock up and taking it back costs more than that
            n = fill(&self.form, t, <int64_t*> view.buf, view.len // 8)
        else:
            with nogil:
                n = fill(&self.form, t, <int64_t*> view.buf, view.len // 8)
        PyBuffer_Release(&view)  # nothing above raises
        return n

    def tally_ms(self, start_ms, end_ms, out, origin_ms, width_ms, weight=1):
        """Add the ticks of the closed window [start_ms, end_ms] to bins; return how many.

        Bin i begins at ``origin_ms + i * width_ms``, and ``out[i]`` grows by `weight` for
        each tick in it.

        Parameters
        ----------
        start_ms, end_ms : int
            instants, ms since the Unix epoch, UTC
        out : writable contiguous buffer of int64, such as a numpy array
            one item a bin; bins beyond the window stay as they are
        origin_ms : int
            instant at which the first bin begins, start_ms or earlier
        width_ms : int
            length of a bin, ms
        weight : int
            what a tick adds, from 0 to 2147483647

        Returns
        -------
        int
            number of ticks in the window, as `count_ms` has it

        Raises
        ------
        ValueError
            end_ms lies before start_ms, origin_ms after it, or out is too short
        TypeError
            out is no such buffer

        Notes
        -----
        Where every bin holds whole minutes, hours or days, their ticks are counted, not
        listed: O(minutes, hours or days with a tick). The GIL is released.
        """
        cdef:
            int64_t start = instant(start_ms, "start_ms"), end = instant(end_ms, "end_ms")
            int64_t origin = instant(origin_ms, "origin_ms"), n
            int64_t width = whole(width_ms, "width_ms", 1, MAX_INSTANT)
            int64_t each = whole(weight, "weight", 0, 0x7FFFFFFF)
            Py_buffer view
        if end < start:
            raise ValueError(
                f"end_ms {end} lies before start_ms {start}; give the earlier instant first"
            )
        if origin > start:
            raise ValueError(
                f"origin_ms {origin} lies after start_ms {start}; give an origin at or before it"
            )
        open_ticks(out, &view)
        try:
            n = (end - origin) // width + 1
            if n > view.len // 8:
                raise ValueError(
                    f"out has {view.len // 8} items, and the window reaches into {n} bins; "
                    "give one item a bin"
                )
            if end < 0:
                return 0
            with nogil:
                n = start_of_search(&self.form, (start + 999) // 1000)
                n = tally(
                    &self.form, n, end // 1000, origin, width, each, <int64_t*> view.buf
                )
        finally:
            PyBuffer_Release(&view)
        return n
