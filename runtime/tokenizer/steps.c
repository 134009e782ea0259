/* steps.c -- the normalizer, the pre-tokenizer and the decoder of a tokenizer.json, as lists of
 * steps. */
#include <stdlib.h>
#include <string.h>

#include "runtime/json/json.h"
#include "runtime/tokenizer/inside.h"

enum { PLACE_BYTES = 96 };

static const char mark[] = "\xe2\x96\x81"; /* U+2581, which Metaspace writes for a space */

static const char *type_of(json_t *step) {
  const char *type = json_text(step, "type");
  return type ? type : "";
}

static bool is(json_t *step, const char *type) {
  return strcmp(type_of(step), type) == 0;
}

static bool refuse_type(TokenizerReading *r, const char *place, json_t *step, const char *built) {
  return tokenizer_refuse(r, "%s.type is \"%.40s\": built are %s", place, type_of(step), built);
}

/* Checks that a key has this text, or is absent. */
static bool check_text(TokenizerReading *r, json_t *object, const char *place, const char *key,
                       const char *wanted) {
  const char *text = json_text(object, key);
  return (text && strcmp(text, wanted) == 0) ||
         tokenizer_refuse(r, "%s.%s is \"%.40s\": only \"%s\" is built", place, key,
                          text ? text : "", wanted);
}

static bool flag(json_t *object, const char *key, bool absent) {
  json_t *value = json_object_get(object, key);
  return value && !json_is_null(value) ? json_is_true(value) : absent;
}

typedef bool (*ReadStep)(TokenizerReading *, json_t *step, const char *place);

/* One step, or the list of a Sequence. */
static bool read_steps(TokenizerReading *r, json_t *value, const char *place, const char *list,
                       ReadStep read) {
  char inner[PLACE_BYTES];
  if (!value || json_is_null(value)) return true;
  if (!json_is_object(value)) return tokenizer_refuse(r, "%s is no object", place);
  if (!is(value, "Sequence")) return read(r, value, place);
  json_t *steps = json_object_get(value, list);
  if (!json_is_array(steps)) return tokenizer_refuse(r, "%s.%s is no list", place, list);
  for (size_t i = 0; i < json_array_size(steps); i++) {
    (void)snprintf(inner, sizeof inner, "%s.%s[%zu]", place, list, i);
    if (!read(r, json_array_get(steps, i), inner)) return false;
  }
  return true;
}

/* ---- the normalizer */

static bool read_replace(TokenizerReading *r, json_t *step, const char *place, char **from,
                         char **to) {
  json_t *pattern = json_object_get(step, "pattern");
  if (!json_text(pattern, "String"))
    return tokenizer_refuse(r, "%s.pattern is no String: others are not built", place);
  if (*json_text(pattern, "String") == '\0')
    return tokenizer_refuse(r, "%s.pattern.String is empty", place);
  return tokenizer_text(r, pattern, place, "String", from) &&
         tokenizer_text(r, step, place, "content", to);
}

static bool read_normal(TokenizerReading *r, json_t *step, const char *place) {
  Tokenizer *t = r->t;
  if (t->normals == STEPS_MAX) return tokenizer_refuse(r, "%s: too many steps", place);
  Normal *normal = &t->normal[t->normals++];
  *normal = (Normal){.kind = NORMAL_NFC};
  if (is(step, "NFC")) return tokenizer_check_keys(r, step, place, " type ");
  if (is(step, "Prepend")) {
    normal->kind = NORMAL_PREPEND;
    return tokenizer_check_keys(r, step, place, " type prepend ") &&
           tokenizer_text(r, step, place, "prepend", &normal->to);
  }
  if (is(step, "Replace")) {
    normal->kind = NORMAL_REPLACE;
    return tokenizer_check_keys(r, step, place, " type pattern content ") &&
           read_replace(r, step, place, &normal->from, &normal->to);
  }
  return refuse_type(r, place, step, "NFC, Prepend, Replace and a Sequence of them");
}

bool tokenizer_read_normalizer(TokenizerReading *r, json_t *normalizer) {
  return read_steps(r, normalizer, "normalizer", "normalizers", read_normal);
}

/* ---- the pre-tokenizer */

/* Hugging Face's ByteLevel with use_regex */
static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
                           "\\s+(?!\\S)|\\s+";

static bool read_byte_level(TokenizerReading *r, json_t *step, const char *place, Split *split) {
  split->kind = SPLIT_BYTES;
  split->prefix_space = flag(step, "add_prefix_space", true);
  split->keeps_gaps = split->keeps_matches = true;
  if (flag(step, "use_regex", true)) split->code = pattern_compile(r, place, gpt2, false);
  r->t->is_byte_level = true;
  return tokenizer_check_keys(r, step, place, " type add_prefix_space trim_offsets use_regex ") &&
         (split->code || !flag(step, "use_regex", true));
}

static bool read_metaspace(TokenizerReading *r, json_t *step, const char *place, Split *split) {
  const char *scheme = json_text(step, "prepend_scheme");
  if (!scheme) scheme = flag(step, "add_prefix_space", true) ? "always" : "never";
  split->kind = SPLIT_METASPACE;
  split->cuts = flag(step, "split", true);
  split->prepends = strcmp(scheme, "never") != 0;
  split->first_only = strcmp(scheme, "first") == 0;
  if (split->prepends && !split->first_only && strcmp(scheme, "always") != 0)
    return tokenizer_refuse(r, "%s.prepend_scheme is \"%.40s\": it is first, always or never",
                            place, scheme);
  return tokenizer_check_keys(r, step, place,
                              " type replacement prepend_scheme split add_prefix_space "
                              "str_rep ") &&
         check_text(r, step, place, "replacement", mark) &&
         tokenizer_text(r, step, place, "replacement", &split->mark);
}

static bool read_pattern(TokenizerReading *r, json_t *step, const char *place, Split *split) {
  const char *behavior = json_text(step, "behavior");
  json_t *pattern = json_object_get(step, "pattern");
  const char *regex = json_text(pattern, "Regex"), *literal = json_text(pattern, "String");
  if (!tokenizer_check_keys(r, step, place, " type pattern behavior invert ")) return false;
  if (!regex && !literal)
    return tokenizer_refuse(r, "%s.pattern is neither a Regex nor a String", place);
  bool removes = behavior && strcmp(behavior, "Removed") == 0;
  if (!removes && (!behavior || strcmp(behavior, "Isolated") != 0))
    return tokenizer_refuse(r, "%s.behavior is \"%.40s\": built are Isolated and Removed", place,
                            behavior ? behavior : "");
  split->kind = SPLIT_PATTERN;
  split->keeps_matches = !removes || flag(step, "invert", false);
  split->keeps_gaps = !removes || !split->keeps_matches;
  split->code = pattern_compile(r, place, regex ? regex : literal, regex == NULL);
  return split->code != NULL;
}

static bool read_split(TokenizerReading *r, json_t *step, const char *place) {
  Tokenizer *t = r->t;
  if (t->splits == STEPS_MAX) return tokenizer_refuse(r, "%s: too many steps", place);
  if (t->is_byte_level)
    return tokenizer_refuse(r, "%s follows ByteLevel, which has to be the last step", place);
  Split *split = &t->split[t->splits++];
  *split = (Split){0};
  if (is(step, "ByteLevel")) return read_byte_level(r, step, place, split);
  if (is(step, "Metaspace")) return read_metaspace(r, step, place, split);
  if (is(step, "Split")) return read_pattern(r, step, place, split);
  return refuse_type(r, place, step, "ByteLevel, Split, Metaspace and a Sequence of them");
}

bool tokenizer_read_split(TokenizerReading *r, json_t *pre_tokenizer) {
  return read_steps(r, pre_tokenizer, "pre_tokenizer", "pretokenizers", read_split);
}

/* ---- the decoder */

static bool read_strip(TokenizerReading *r, json_t *step, const char *place) {
  int64_t start = json_whole(step, "start", 0), stop = json_whole(step, "stop", 0);
  if (stop != 0 || start < 0 || start > 1024)
    return tokenizer_refuse(r,
                            "%s.start and stop are %lld and %lld: only blanks at the beginning "
                            "are built",
                            place, (long long)start, (long long)stop);
  r->t->decoding.strip_spaces = (int32_t)start;
  return tokenizer_check_keys(r, step, place, " type content start stop ") &&
         check_text(r, step, place, "content", " ");
}

static bool read_decoding(TokenizerReading *r, json_t *step, const char *place) {
  Decoding *d = &r->t->decoding;
  if (is(step, "ByteLevel")) {
    d->kind = DECODE_BYTES;
    return true; /* its keys are those of the pre-tokenizer, without effect here */
  }
  if (is(step, "Metaspace")) {
    d->kind = DECODE_METASPACE;
    const char *scheme = json_text(step, "prepend_scheme");
    d->strip_spaces = scheme && strcmp(scheme, "never") == 0 ? 0 : 1;
    return check_text(r, step, place, "replacement", mark);
  }
  if (is(step, "Fuse")) return true;
  if (is(step, "ByteFallback")) {
    d->has_fallback = true;
    return true;
  }
  if (is(step, "Strip")) return read_strip(r, step, place);
  if (is(step, "Replace"))
    return d->from ? tokenizer_refuse(r, "%s is a second Replace: one is built", place)
                   : read_replace(r, step, place, &d->from, &d->to);
  return refuse_type(r, place, step,
                     "ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip and a Sequence");
}

bool tokenizer_read_decoder(TokenizerReading *r, json_t *decoder) {
  return read_steps(r, decoder, "decoder", "decoders", read_decoding);
}
