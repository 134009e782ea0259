/* encode.c -- a text through all steps: added tokens are cut out of it, then of the normalized
 * rest; the pre-tokenizer's steps cut what remains into pieces, each step inside the pieces of the
 * previous one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "runtime/tokenizer/inside.h"

enum { TEXT_MAX = 1 << 30, JIT_STACK_BYTES = 32 << 10, JIT_STACK_MAX = 64 << 20 };

struct Encoder {
  const Tokenizer *t;
  Merger *merger;
  pcre2_match_data *match[STEPS_MAX];
  pcre2_code *unassigned;
  pcre2_match_data *unassigned_match;
  pcre2_match_context *context;
  pcre2_jit_stack *stack;
  ByteBuffer normal, other, step[STEPS_MAX];
  EncoderCounts counts;
  /* of the text at hand */
  TokenizerSpecial special;
  TokenIds *ids;
  bool is_first; /* the segment begins the text */
  char *why;
};

static bool refuse(Encoder *e, const char *what) {
  (void)snprintf(e->why, TOKENIZER_WHY_BYTES, "%.480s", what);
  return false;
}

static bool no_memory(Encoder *e) {
  return refuse(e, "not enough memory");
}

void encoder_free(Encoder *e) {
  if (!e) return;
  merger_free(e->merger);
  for (int32_t i = 0; i < STEPS_MAX; i++) {
    pcre2_match_data_free(e->match[i]);
    free(e->step[i].at);
  }
  pcre2_match_data_free(e->unassigned_match);
  pcre2_code_free(e->unassigned);
  pcre2_match_context_free(e->context);
  pcre2_jit_stack_free(e->stack);
  free(e->normal.at), free(e->other.at);
  free(e);
}

static bool make_matches(Encoder *e) {
  int fault;
  PCRE2_SIZE offset;
  e->context = pcre2_match_context_create(NULL);
  e->stack = pcre2_jit_stack_create(JIT_STACK_BYTES, JIT_STACK_MAX, NULL);
  e->unassigned = pcre2_compile((PCRE2_SPTR) "\\p{Cn}", PCRE2_ZERO_TERMINATED, PCRE2_UTF, &fault,
                                &offset, NULL);
  if (!e->context || !e->unassigned) return false;
  if (e->stack) pcre2_jit_stack_assign(e->context, NULL, e->stack);
  (void)pcre2_jit_compile(e->unassigned, PCRE2_JIT_COMPLETE);
  e->unassigned_match = pcre2_match_data_create(1, NULL);
  bool is_good = e->unassigned_match != NULL;
  for (int32_t i = 0; i < e->t->splits; i++) {
    e->match[i] = pcre2_match_data_create(1, NULL);
    is_good = is_good && e->match[i] != NULL;
  }
  return is_good;
}

Encoder *encoder_new(const Tokenizer *t) {
  Encoder *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->t = t;
  e->merger = merger_new(t);
  if (e->merger && make_matches(e)) return e;
  encoder_free(e);
  return NULL;
}

EncoderCounts encoder_counts(const Encoder *e) {
  EncoderCounts counts = e->counts;
  counts.dropped = merger_dropped(e->merger);
  return counts;
}

/* ---- characters */

static utf8proc_int32_t character_at(const char *at, size_t bytes) {
  utf8proc_int32_t character = -1;
  (void)utf8proc_iterate((const utf8proc_uint8_t *)at, (utf8proc_ssize_t)bytes, &character);
  return character;
}

/* The first byte of the character that ends at `end`. */
static size_t begin_before(const char *text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && ((uint8_t)text[at] & 0xc0) == 0x80)
    at--;
  return at;
}

static bool is_space(utf8proc_int32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

/* \w of Unicode: letters, marks, digits, connectors, joiners and letters in circles. */
static bool is_word(utf8proc_int32_t c) {
  static const utf8proc_int32_t circled[][2] = {{0x200c, 0x200d},
                                                {0x24b6, 0x24e9},
                                                {0x1f130, 0x1f149},
                                                {0x1f150, 0x1f169},
                                                {0x1f170, 0x1f189}};
  for (size_t i = 0; i < sizeof circled / sizeof *circled; i++)
    if (c >= circled[i][0] && c <= circled[i][1]) return true;
  utf8proc_category_t kind = utf8proc_category(c);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NL) ||
         kind == UTF8PROC_CATEGORY_PC;
}

/* ---- pieces */

typedef bool (*Take)(Encoder *, int32_t step, const char *text, size_t bytes);

static int match_from(const Split *split, const Encoder *e, int32_t step, const char *text,
                      size_t bytes, size_t from) {
  return pcre2_match(split->code, (PCRE2_SPTR)text, bytes, from, PCRE2_NO_UTF_CHECK, e->match[step],
                     e->context);
}

/* Matches and the text between them become pieces; the step says which pieces are kept. */
static bool cut_by_pattern(Encoder *e, int32_t step, const char *text, size_t bytes, Take take) {
  const Split *split = &e->t->split[step];
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(e->match[step]);
  size_t at = 0;
  while (at < bytes) {
    int found = match_from(split, e, step, text, bytes, at);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
      return refuse(e, "the tokenizer's pattern takes too many steps on this text");
    size_t begin = found < 0 ? bytes : range[0], end = found < 0 ? bytes : range[1];
    if (split->keeps_gaps && begin > at && !take(e, step + 1, text + at, begin - at)) return false;
    if (split->keeps_matches && end > begin && !take(e, step + 1, text + begin, end - begin))
      return false;
    at = end;
  }
  return true;
}

/* Words that begin with a mark are encoded one by one, where that changes no id. */
static bool add_words(Encoder *e, const char *text, size_t bytes) {
  size_t begin = 0;
  for (size_t i = 1; i + 2 < bytes; i++) {
    bool is_mark =
        (uint8_t)text[i] == 0xe2 && (uint8_t)text[i + 1] == 0x96 && (uint8_t)text[i + 2] == 0x81;
    bool follows = i >= 3 && memcmp(text + i - 3, text + i, 3) == 0;
    if (!is_mark || follows) continue;
    if (!merger_add(e->merger, text + begin, i - begin, e->ids)) return no_memory(e);
    begin = i;
  }
  return merger_add(e->merger, text + begin, bytes - begin, e->ids) || no_memory(e);
}

static bool take_piece(Encoder *e, int32_t step, const char *text, size_t bytes);

static bool take_bytes(Encoder *e, int32_t step, const char *text, size_t bytes) {
  const Split *split = &e->t->split[step];
  ByteBuffer *copy = &e->step[step];
  if (split->prefix_space && text[0] != ' ') {
    copy->count = 0;
    if (!bytes_add(copy, " ", 1) || !bytes_add(copy, text, bytes)) return no_memory(e);
    text = copy->at, bytes = copy->count;
  }
  return split->code ? cut_by_pattern(e, step, text, bytes, take_piece)
                     : take_piece(e, step + 1, text, bytes);
}

static bool fill_marks(Encoder *e, const Split *split, const char *text, size_t bytes,
                       ByteBuffer *out) {
  const size_t mark = strlen(split->mark);
  bool has_mark = text[0] == ' ' || (bytes >= mark && memcmp(text, split->mark, mark) == 0);
  out->count = 0;
  if (split->prepends && !has_mark && (e->is_first || !split->first_only) &&
      !bytes_add(out, split->mark, mark))
    return false;
  for (size_t i = 0; i < bytes; i++)
    if (!(text[i] == ' ' ? bytes_add(out, split->mark, mark) : bytes_add(out, text + i, 1)))
      return false;
  return true;
}

static bool take_metaspace(Encoder *e, int32_t step, const char *text, size_t bytes) {
  const Split *split = &e->t->split[step];
  ByteBuffer *marked = &e->step[step];
  const size_t mark = strlen(split->mark);
  if (!fill_marks(e, split, text, bytes, marked)) return no_memory(e);
  size_t begin = 0;
  for (size_t i = 1; split->cuts && i + mark <= marked->count; i++) {
    if (memcmp(marked->at + i, split->mark, mark) != 0) continue;
    if (!take_piece(e, step + 1, marked->at + begin, i - begin)) return false;
    begin = i;
  }
  return take_piece(e, step + 1, marked->at + begin, marked->count - begin);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pre-tokenizer has steps */
static bool take_piece(Encoder *e, int32_t step, const char *text, size_t bytes) {
  if (bytes == 0) return true;
  if (step < e->t->splits) {
    switch (e->t->split[step].kind) {
    case SPLIT_PATTERN: return cut_by_pattern(e, step, text, bytes, take_piece);
    case SPLIT_BYTES: return take_bytes(e, step, text, bytes);
    default: return take_metaspace(e, step, text, bytes);
    }
  }
  if (e->t->cuts_words) return add_words(e, text, bytes);
  return merger_add(e->merger, text, bytes, e->ids) || no_memory(e);
}

/* ---- added tokens */

/* The range of a match with the spaces that its flags take. False: no single word. */
static bool widen(const Added *added, const char *text, size_t bytes, size_t after, size_t *begin,
                  size_t *end) {
  if (added->single_word) {
    bool word_before = *begin > 0 && is_word(character_at(text + begin_before(text, *begin),
                                                          *begin - begin_before(text, *begin)));
    if (word_before || (*end < bytes && is_word(character_at(text + *end, bytes - *end))))
      return false;
  }
  while (added->lstrip && *begin > after) {
    size_t before = begin_before(text, *begin);
    if (!is_space(character_at(text + before, *begin - before))) break;
    *begin = before;
  }
  while (added->rstrip && *end < bytes && is_space(character_at(text + *end, bytes - *end)))
    *end += utf8_bytes(text[*end]);
  return true;
}

typedef bool (*Rest)(Encoder *, const char *text, size_t bytes, bool is_first);

static bool refuse_special(Encoder *e, const Added *added, size_t at) {
  (void)snprintf(e->why, TOKENIZER_WHY_BYTES,
                 "the special token \"%.60s\" is in the text, at byte %zu: --special text takes it "
                 "as letters, --special parse as the token",
                 added->content, at);
  return false;
}

/* The next match begins after the text of the last one, even where flags of that token also removed
 * spaces. */
static bool cut_tokens(Encoder *e, const Trie *trie, const char *text, size_t bytes, Rest rest) {
  size_t after = 0; /* the end of the last token taken */
  const bool is_first = e->is_first;
  for (size_t at = 0, length; at < bytes && trie->count > 0; at += length) {
    length = 1;
    const Added *added = trie->begins[(uint8_t)text[at]]
                             ? trie_find(e->t, trie, text + at, bytes - at, &length)
                             : NULL;
    if (!added) continue;
    if (added->special && e->special == SPECIAL_TEXT) {
      e->counts.specials++;
      continue;
    }
    if (added->special && e->special == SPECIAL_REFUSE) return refuse_special(e, added, at);
    size_t begin = at, end = at + length;
    if (!widen(added, text, bytes, after, &begin, &end)) continue;
    if (begin > after && !rest(e, text + after, begin - after, is_first && after == 0))
      return false;
    if (!ids_add(e->ids, added->id)) return no_memory(e);
    after = end;
  }
  return after >= bytes || rest(e, text + after, bytes - after, is_first && after == 0);
}

static bool take_normalized(Encoder *e, const char *text, size_t bytes, bool is_first) {
  e->is_first = is_first;
  return take_piece(e, 0, text, bytes);
}

static bool take_raw(Encoder *e, const char *text, size_t bytes, bool is_first) {
  e->is_first = is_first;
  if (e->t->normals > 0) {
    if (!tokenizer_normalize(e->t, text, bytes, &e->normal, &e->other)) return no_memory(e);
    text = e->normal.at, bytes = e->normal.count;
  }
  return cut_tokens(e, &e->t->normalized, text, bytes, take_normalized);
}

/* Characters that PCRE2's tables do not have yet. */
static void count_unassigned(Encoder *e, const char *text, size_t bytes) {
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(e->unassigned_match);
  size_t at = 0;
  while (at < bytes && (uint8_t)text[at] < 0xcd) /* none below U+0340 */
    at++;
  while (at < bytes && pcre2_match(e->unassigned, (PCRE2_SPTR)text, bytes, at, PCRE2_NO_UTF_CHECK,
                                   e->unassigned_match, e->context) > 0) {
    e->counts.unassigned++;
    at = range[1];
  }
}

static bool encode(Encoder *e, const char *text, size_t bytes, TokenizerSpecial special,
                   TokenIds *ids, char why[TOKENIZER_WHY_BYTES]) {
  e->why = why;
  e->special = special;
  e->ids = ids;
  if (bytes > TEXT_MAX) return refuse(e, "a text of over 1 GiB: cut it into documents");
  size_t valid = utf8_valid(text, bytes);
  if (valid < bytes) {
    (void)snprintf(why, TOKENIZER_WHY_BYTES, "no UTF-8 at byte %zu", valid);
    return false;
  }
  count_unassigned(e, text, bytes);
  return bytes == 0 || cut_tokens(e, &e->t->raw, text, bytes, take_raw);
}

bool tokenizer_encode(Encoder *e, const char *text, size_t bytes, TokenizerSpecial special,
                      TokenIds *ids, char why[TOKENIZER_WHY_BYTES]) {
  e->is_first = true;
  return encode(e, text, bytes, special, ids, why);
}

bool tokenizer_encode_inside(Encoder *e, const char *text, size_t bytes, TokenizerSpecial special,
                             TokenIds *ids, char why[TOKENIZER_WHY_BYTES]) {
  e->is_first = false;
  return encode(e, text, bytes, special, ids, why);
}
