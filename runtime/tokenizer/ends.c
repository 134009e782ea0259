/* ends.c -- the tokens that begin and end a document: by the files beside tokenizer.json, and by
 * its template, which says whether they are added to every text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/json/json.h"
#include "runtime/tokenizer/inside.h"

enum { PATH_BYTES = 4096 };
static const size_t beside_bytes_max = (size_t)16 << 20;

/* The JSON file of this name beside the tokenizer's; NULL: none that can be read. */
static json_t *read_beside(const Tokenizer *t, const char *name) {
  char path[PATH_BYTES];
  JsonFault fault;
  int error;
  const char *slash = strrchr(t->path, '/');
  int folder = slash ? (int)(slash - t->path) + 1 : 0;
  (void)snprintf(path, sizeof path, "%.*s%s", folder, t->path, name);
  return json_read_file(path, beside_bytes_max, &error, &fault);
}

/* "<s>", or { "content": "<s>" } */
static int64_t named(const Tokenizer *t, json_t *value) {
  const char *text = json_is_object(value) ? json_text(value, "content") : json_string_value(value);
  return text ? tokenizer_id(t, text) : NO_TOKEN;
}

/* 2, or [2, 5], of which the first counts. */
static int64_t numbered(const Tokenizer *t, json_t *value) {
  if (json_is_array(value)) value = json_array_get(value, 0);
  int64_t id = json_is_integer(value) ? (int64_t)json_integer_value(value) : NO_TOKEN;
  return id >= 0 && id < t->vocab ? id : NO_TOKEN;
}

static void look_beside(Tokenizer *t) {
  json_t *config = read_beside(t, "tokenizer_config.json"), *model = read_beside(t, "config.json");
  TokenizerEnds *ends = &t->ends;
  if (ends->bos < 0) ends->bos = named(t, json_object_get(config, "bos_token"));
  if (ends->eos < 0) ends->eos = named(t, json_object_get(config, "eos_token"));
  if (ends->bos < 0) ends->bos = numbered(t, json_object_get(model, "bos_token_id"));
  if (ends->eos < 0) ends->eos = numbered(t, json_object_get(model, "eos_token_id"));
  json_decref(config);
  json_decref(model);
}

/* A special token before the text of a template is bos, one after it eos. */
static bool read_template(TokenizerReading *r, json_t *step, const char *place) {
  Tokenizer *t = r->t;
  json_t *single = json_object_get(step, "single");
  bool is_after = false;
  if (!json_is_array(single)) return tokenizer_refuse(r, "%s.single is no list", place);
  for (size_t i = 0; i < json_array_size(single); i++) {
    json_t *part = json_array_get(single, i), *special = json_object_get(part, "SpecialToken");
    if (!special) {
      if (!json_object_get(part, "Sequence") || is_after)
        return tokenizer_refuse(r, "%s.single[%zu] is neither the text nor a special token", place,
                                i);
      is_after = true;
      continue;
    }
    int64_t id = named(t, json_object_get(special, "id"));
    bool *adds = is_after ? &t->ends.adds_eos : &t->ends.adds_bos;
    if (id < 0 || *adds)
      return tokenizer_refuse(r, "%s.single[%zu] is %s", place, i,
                              id < 0 ? "no token of this file" : "a second token on this side");
    *adds = true;
    *(is_after ? &t->ends.eos : &t->ends.bos) = id;
  }
  return true;
}

static bool read_step(TokenizerReading *r, json_t *step, const char *place) {
  const char *type = json_text(step, "type");
  if (type && strcmp(type, "ByteLevel") == 0) return true; /* it only trims offsets */
  if (type && strcmp(type, "TemplateProcessing") == 0) return read_template(r, step, place);
  return tokenizer_refuse(r,
                          "%s.type is \"%.40s\": built are ByteLevel, TemplateProcessing and a "
                          "Sequence of them",
                          place, type ? type : "");
}

bool tokenizer_read_ends(TokenizerReading *r, json_t *post_processor) {
  const char *type = json_text(post_processor, "type");
  json_t *steps = json_object_get(post_processor, "processors");
  char place[64];
  bool is_good = true;
  r->t->ends = (TokenizerEnds){NO_TOKEN, NO_TOKEN, false, false};
  if (type && strcmp(type, "Sequence") == 0) {
    if (!json_is_array(steps)) return tokenizer_refuse(r, "post_processor.processors is no list");
    for (size_t i = 0; is_good && i < json_array_size(steps); i++) {
      (void)snprintf(place, sizeof place, "post_processor.processors[%zu]", i);
      is_good = read_step(r, json_array_get(steps, i), place);
    }
  } else if (post_processor && !json_is_null(post_processor)) {
    is_good = read_step(r, post_processor, "post_processor");
  }
  if (is_good) look_beside(r->t);
  return is_good;
}
