/* SPDX-License-Identifier: Apache-2.0
 * base/clock.c */
#include "base/clock.h"

#include <time.h>

#include "base/checked.h"

static int64_t read_clock(clockid_t id, int64_t per_second)
{
    struct timespec t;

    if (clock_gettime(id, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * per_second + (int64_t)t.tv_nsec / (WBI_NS_PER_S / per_second);
}

static int64_t system_mono(void *arg)
{
    (void)arg;
    return read_clock(CLOCK_MONOTONIC, WBI_NS_PER_S);
}

static int64_t system_wall(void *arg)
{
    (void)arg;
    return read_clock(CLOCK_REALTIME, 1000);
}

struct wbi_clock wbi_clock_system(void)
{
    return (struct wbi_clock){system_mono, system_wall, NULL};
}

static int64_t manual_mono(void *arg)
{
    return ((struct wbi_clock_manual *)arg)->mono_ns;
}

static int64_t manual_wall(void *arg)
{
    return ((struct wbi_clock_manual *)arg)->wall_ms;
}

struct wbi_clock wbi_clock_by_hand(struct wbi_clock_manual *m)
{
    return (struct wbi_clock){manual_mono, manual_wall, m};
}

/* Days since 1970-01-01 of a proleptic Gregorian date (Hinnant's method). */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
    int64_t era, yoe, doy, doe;

    y -= m <= 2;
    era = (y >= 0 ? y : y - 399) / 400;
    yoe = y - era * 400;
    doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static void civil_from_days(int64_t z, int64_t *y, int64_t *m, int64_t *d)
{
    int64_t era, doe, yoe, doy, mp;

    z += 719468;
    era = (z >= 0 ? z : z - 146096) / 146097;
    doe = z - era * 146097;
    yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    mp = (5 * doy + 2) / 153;
    *d = doy - (153 * mp + 2) / 5 + 1;
    *m = mp + (mp < 10 ? 3 : -9);
    *y = yoe + era * 400 + (*m <= 2);
}

#define MS_PER_DAY INT64_C(86400000)
#define YEAR_0000 (INT64_C(-62167219200000))
#define YEAR_9999_END INT64_C(253402300799999)

static void put_digits(char *out, int width, int64_t v)
{
    for (int i = width - 1; i >= 0; i--) {
        out[i] = (char)('0' + v % 10);
        v /= 10;
    }
}

static void format_whole(int64_t wall_ms, char out[WBI_RFC3339_SIZE])
{
    int64_t days = wall_ms / MS_PER_DAY, ms = wall_ms % MS_PER_DAY, y, m, d;

    if (ms < 0) {
        ms += MS_PER_DAY;
        days--;
    }
    civil_from_days(days, &y, &m, &d);
    memcpy(out, "0000-00-00T00:00:00.000Z", WBI_RFC3339_SIZE);
    put_digits(out, 4, y);
    put_digits(out + 5, 2, m);
    put_digits(out + 8, 2, d);
    put_digits(out + 11, 2, ms / 3600000);
    put_digits(out + 14, 2, ms / 60000 % 60);
    put_digits(out + 17, 2, ms / 1000 % 60);
    put_digits(out + 20, 3, ms % 1000);
}

/* Most times lie in the second of the one before: only their end is new. */
void wbi_time_format(int64_t wall_ms, char out[WBI_RFC3339_SIZE])
{
    static _Thread_local char last[WBI_RFC3339_SIZE];
    static _Thread_local int64_t second_ms = INT64_MIN;

    wall_ms = WBI_MAX(wall_ms, YEAR_0000);
    wall_ms = WBI_MIN(wall_ms, YEAR_9999_END);
    if (second_ms == INT64_MIN || wall_ms < second_ms || wall_ms - second_ms >= 1000) {
        format_whole(wall_ms, last);
        second_ms = wall_ms - (last[20] - '0') * 100 - (last[21] - '0') * 10 - (last[22] - '0');
    }
    put_digits(last + 20, 3, wall_ms - second_ms);
    memcpy(out, last, WBI_RFC3339_SIZE);
}

static bool digits(struct wbi_str s, size_t at, size_t n, int64_t *ret)
{
    uint64_t v;

    if (at + n > s.n || !wbi_parse_u64(wbi_str_make(s.p + at, n), &v))
        return false;
    *ret = (int64_t)v;
    return true;
}

static int64_t days_in_month(int64_t y, int64_t m)
{
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (m == 2 && ((y % 4 == 0 && y % 100 != 0) || y % 400 == 0))
        return 29;
    return days[m - 1];
}

/* ".123" after the seconds; moves *at behind it. */
static bool parse_fraction(struct wbi_str s, size_t *at, int64_t *ret_ms)
{
    int64_t ms = 0, unit = 100;
    size_t start = *at + 1;

    *ret_ms = 0;
    if (*at >= s.n || s.p[*at] != '.')
        return true;
    for (*at = start; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9'; (*at)++) {
        ms += unit * (s.p[*at] - '0');
        unit /= 10;
    }
    *ret_ms = ms;
    return *at > start;
}

/* "Z" or "+hh:mm" up to the end of s. */
static bool parse_offset(struct wbi_str s, size_t at, int64_t *ret_minutes)
{
    int64_t h, m;

    *ret_minutes = 0;
    if (at + 1 == s.n && (s.p[at] == 'Z' || s.p[at] == 'z'))
        return true;
    if (at + 6 != s.n || (s.p[at] != '+' && s.p[at] != '-') || s.p[at + 3] != ':')
        return false;
    if (!digits(s, at + 1, 2, &h) || !digits(s, at + 4, 2, &m) || h > 23 || m > 59)
        return false;
    *ret_minutes = (h * 60 + m) * (s.p[at] == '-' ? -1 : 1);
    return true;
}

bool wbi_time_parse(struct wbi_str s, int64_t *ret)
{
    int64_t y, mo, d, h, mi, sec, ms, offset;
    size_t at = 19;

    if (s.n < 20 || s.p[4] != '-' || s.p[7] != '-' || (s.p[10] != 'T' && s.p[10] != 't') ||
        s.p[13] != ':' || s.p[16] != ':')
        return false;
    if (!digits(s, 0, 4, &y) || !digits(s, 5, 2, &mo) || !digits(s, 8, 2, &d) ||
        !digits(s, 11, 2, &h) || !digits(s, 14, 2, &mi) || !digits(s, 17, 2, &sec))
        return false;
    if (mo < 1 || mo > 12 || d < 1 || d > days_in_month(y, mo) || h > 23 || mi > 59 || sec > 60)
        return false;
    if (!parse_fraction(s, &at, &ms) || !parse_offset(s, at, &offset))
        return false;
    if (sec == 60) /* a leap second counts as the last instant of its minute */
        sec = 59, ms = 999;
    *ret = ((days_from_civil(y, mo, d) * 24 + h) * 60 + mi - offset) * 60000 + sec * 1000 + ms;
    return true;
}
