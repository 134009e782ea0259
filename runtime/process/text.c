/* text.c -- printf into a buffer that is flushed when full. */
#include "runtime/process/text.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/process/plain.h"
#include "runtime/process/wrap.h"

enum { WARN_COLUMNS = 80, WARN_INDENT = 4 };

void text_start(Text *text, int descriptor) {
  text->descriptor = descriptor;
  text->is_screen = false;
  text->failure = 0;
  text->length = 0;
}

void text_start_screen(Text *text, int descriptor) {
  text_start(text, descriptor);
  text->is_screen = true;
}

bool text_flush(Text *text) {
  size_t done = 0;
  while (text->descriptor >= 0 && text->failure == 0 && done < text->length) {
    ssize_t written = write(text->descriptor, text->bytes + done, text->length - done);
    if (written < 0 && errno == EINTR) continue;
    /* a pipe in non-blocking mode: wait until it takes more */
    if (written < 0 && errno == EAGAIN) {
      (void)poll(&(struct pollfd){.fd = text->descriptor, .events = POLLOUT}, 1, -1);
      continue;
    }
    if (written <= 0) text->failure = written < 0 ? errno : ENOSPC;
    if (written > 0) done += (size_t)written;
  }
  text->length = 0;
  return text->failure == 0;
}

static int count_breaks(const char *text) {
  int count = 0;
  for (; (text = strchr(text, '\n')) != NULL; text++)
    count++;
  return count;
}

/* Escapes control characters in what was added after `from`. Line breaks that are not in the format
 * came with a name and are escaped, too, except the one at the end. */
static void make_plain(Text *text, size_t from, int breaks) {
  char plain[TEXT_BYTES], letter[PLAIN_LETTER_BYTES];
  size_t used = 0;
  const char *at = text->bytes + from, *end = text->bytes + text->length;
  bool is_ours = count_breaks(at) <= breaks;
  while (at < end) {
    bool is_break = *at == '\n' && (is_ours || (breaks > 0 && at + 1 == end));
    if (is_break) letter[0] = '\n', letter[1] = 0;
    at += is_break ? 1 : plain_letter(at, end, letter);
    size_t length = strlen(letter);
    if (used + length >= sizeof plain) break;
    memcpy(plain + used, letter, length + 1);
    used += length;
  }
  text->length = from;
  if (from + used >= TEXT_BYTES) {
    text->bytes[from] = 0;
    if (text->descriptor < 0) return;
    (void)text_flush(text);
  }
  memcpy(text->bytes + text->length, plain, used);
  text->length += used;
  text->bytes[text->length] = 0;
}

static void add_list(Text *text, const char *format, va_list list) {
  for (int attempt = 0; attempt < 2; attempt++) {
    size_t room = TEXT_BYTES - text->length, from = text->length;
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(text->bytes + from, room, format, again);
    va_end(again);
    if (length >= 0 && (size_t)length < room) {
      text->length += (size_t)length;
      if (text->is_screen) make_plain(text, from, count_breaks(format));
      return;
    }
    text->bytes[from] = 0;
    if (text->descriptor < 0) return;
    (void)text_flush(text); /* and once more into the empty buffer */
  }
}

void text_add(Text *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  add_list(text, format, list);
  va_end(list);
}

/* True if a launcher reads standard error: it prefixes each line with the rank, and stores the last
 * line as the reason why the run ended. A batch script prints that line again. */
static bool goes_to_launcher(void) {
  return getenv("PMIX_RANK") != NULL || getenv("SLURM_JOB_ID") != NULL;
}

void text_warn(const char *format, ...) {
  Text text;
  text_start_screen(&text, STDERR_FILENO);
  va_list list;
  va_start(list, format);
  add_list(&text, format, list);
  va_end(list);
  if (!goes_to_launcher()) {
    flockfile(stderr);
    print_wrapped(stderr, text.bytes, 0, WARN_INDENT, WARN_COLUMNS);
    funlockfile(stderr);
    return;
  }
  text_add(&text, "\n");
  (void)text_flush(&text);
}

void text_add_json_number(Text *text, double value) {
  if (isfinite(value))
    text_add(text, "%.9g", value);
  else
    text_add(text, "null");
}

void text_add_json_string(Text *text, const char *string) {
  text_add(text, "\"");
  const char *end = string + strlen(string);
  for (int length = 0; *string; string += length > 0 ? length : 1) {
    length = letter_bytes(string, end);
    if (*string == '"' || *string == '\\')
      text_add(text, "\\%c", *string);
    else if ((unsigned char)*string < 0x20 || *string == 0x7f)
      text_add(text, "\\u%04x", (unsigned)(unsigned char)*string);
    else if (length == 0)
      text_add(text, "\\ufffd");
    else
      text_add(text, "%.*s", length, string);
  }
  text_add(text, "\"");
}

static const char *scaled(char out[QUANTITY_BYTES], double value, const char *const *unit,
                          int32_t units) {
  int32_t power = 0;
  while (power + 1 < units && fabs(value) >= 999.5) {
    value /= 1000.0;
    power++;
  }
  int decimals = power == 0 || fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
  (void)snprintf(out, QUANTITY_BYTES, "%.*f%s", decimals, value, unit[power]);
  return out;
}

const char *text_count(char out[QUANTITY_BYTES], double value) {
  static const char *const unit[] = {"", " k", " M", " G", " T", " P", " E"};
  return scaled(out, value, unit, 7);
}

const char *text_bytes(char out[QUANTITY_BYTES], double value) {
  static const char *const unit[] = {" B", " kB", " MB", " GB", " TB", " PB", " EB"};
  return scaled(out, value, unit, 7);
}

const char *text_duration(char out[QUANTITY_BYTES], double time_s) {
  if (!(time_s < 1e12)) time_s = 1e12;
  long long whole = (long long)(time_s + 0.5);
  if (time_s < 9.95)
    (void)snprintf(out, QUANTITY_BYTES, "%.1f s", time_s);
  else if (whole < 100)
    (void)snprintf(out, QUANTITY_BYTES, "%lld s", whole);
  else if (whole < 3600)
    (void)snprintf(out, QUANTITY_BYTES, "%lld m %02lld s", whole / 60, whole % 60);
  else if (whole < 86400)
    (void)snprintf(out, QUANTITY_BYTES, "%lld h %02lld m", whole / 3600, whole % 3600 / 60);
  else
    (void)snprintf(out, QUANTITY_BYTES, "%lld d %02lld h", whole / 86400, whole % 86400 / 3600);
  return out;
}

const char *text_squeeze(char out[QUANTITY_BYTES]) {
  size_t used = 0;
  for (size_t i = 0; out[i]; i++)
    if (out[i] != ' ') out[used++] = out[i];
  out[used] = 0;
  return out;
}

const char *text_grouped(char out[QUANTITY_BYTES], int64_t value) {
  char digits[QUANTITY_BYTES];
  int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
  int at = 0;
  for (int i = 0; i < length && at < QUANTITY_BYTES - 2; i++) {
    if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0) out[at++] = ',';
    out[at++] = digits[i];
  }
  out[at] = 0;
  return out;
}
