/* text.c -- printf into a buffer that empties itself. */
#include "runtime/metrics/text.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void text_start(Text *text, int descriptor) {
  text->descriptor = descriptor;
  text->failure = 0;
  text->length = 0;
}

bool text_flush(Text *text) {
  size_t done = 0;
  while (text->descriptor >= 0 && text->failure == 0 && done < text->length) {
    ssize_t written = write(text->descriptor, text->bytes + done, text->length - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) { /* a pipe that does not block: as if it did */
      (void)poll(&(struct pollfd){.fd = text->descriptor, .events = POLLOUT}, 1, -1);
      continue;
    }
    if (written <= 0) text->failure = written < 0 ? errno : ENOSPC;
    if (written > 0) done += (size_t)written;
  }
  text->length = 0;
  return text->failure == 0;
}

void text_add(Text *text, const char *format, ...) {
  for (int attempt = 0; attempt < 2; attempt++) {
    size_t room = TEXT_BYTES - text->length;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text->bytes + text->length, room, format, list);
    va_end(list);
    if (length >= 0 && (size_t)length < room) {
      text->length += (size_t)length;
      return;
    }
    if (text->descriptor < 0) return;
    (void)text_flush(text); /* and once more into the empty buffer */
  }
}

void text_warn(const char *format, ...) {
  char line[1024];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(line, sizeof line - 1, format, list);
  va_end(list);
  if (length < 0) return;
  size_t used = (size_t)length < sizeof line - 1 ? (size_t)length : sizeof line - 2;
  line[used++] = '\n';
  ssize_t ignored = write(STDERR_FILENO, line, used);
  (void)ignored;
}

void text_add_json_number(Text *text, double value) {
  if (isfinite(value))
    text_add(text, "%.9g", value);
  else
    text_add(text, "null");
}

/* Bytes of the character that begins at `at`; 0 when it is no UTF-8: cut off, longer than it needs
 * to be, a surrogate, or beyond U+10FFFF. */
static int utf8_length(const char *at) {
  const unsigned char *byte = (const unsigned char *)at;
  if (byte[0] < 0x80) return 1;
  if (byte[0] < 0xc2 || byte[0] > 0xf4) return 0;
  int length = byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
  for (int i = 1; i < length; i++)
    if ((byte[i] & 0xc0) != 0x80) return 0;
  bool is_wrong = (byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
                  (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f);
  return is_wrong ? 0 : length;
}

void text_add_json_string(Text *text, const char *string) {
  text_add(text, "\"");
  for (int length = 0; *string; string += length > 0 ? length : 1) {
    length = utf8_length(string);
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
