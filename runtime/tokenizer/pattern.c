/* pattern.c -- a pattern of Hugging Face's engine (Oniguruma) for PCRE2. \s is replaced by the list
 * of White_Space characters, because PCRE2's \s also has U+180E. Escapes whose meaning differs
 * between the two are refused. */
#include <stdlib.h>
#include <string.h>

#include "runtime/tokenizer/inside.h"

static const char spaces[] =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}"
    "\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
static const char others[] =
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}"
    "\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}"
    "\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}";

static bool add(ByteBuffer *out, const char *text) {
  return bytes_add(out, text, strlen(text));
}

/* \s or \S, alone or inside a class. */
static bool add_spaces(ByteBuffer *out, bool is_space, bool in_class) {
  const char *list = is_space ? spaces : others;
  if (in_class) return add(out, list);
  return add(out, "[") && add(out, list) && add(out, "]");
}

/* Escapes that mean the same to both engines. A mark is itself. */
static bool is_known_escape(char c) {
  bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return !is_letter || (c != '\0' && strchr("pPrntfdD", c) != NULL);
}

/* The pattern in PCRE2's words. False: refused. */
static bool rewrite(TokenizerReading *r, const char *place, const char *pattern, ByteBuffer *out) {
  bool in_class = false, is_good = true;
  for (const char *at = pattern; is_good && *at; at++) {
    if (*at == '\\' && (at[1] == 's' || at[1] == 'S')) {
      is_good = add_spaces(out, *++at == 's', in_class);
    } else if (*at == '\\') {
      if (!is_known_escape(at[1]))
        return tokenizer_refuse(r, "%s.pattern: the escape \\%c at byte %zu is not built", place,
                                at[1], (size_t)(at - pattern));
      is_good = bytes_add(out, at, at[1] ? 2 : 1);
      if (at[1]) at++;
    } else {
      if (in_class && (*at == '[' || (*at == '&' && at[1] == '&')))
        return tokenizer_refuse(r, "%s.pattern: a class inside a class, at byte %zu, is not built",
                                place, (size_t)(at - pattern));
      if (*at == '[') in_class = true;
      if (*at == ']') in_class = false;
      is_good = bytes_add(out, at, 1);
    }
  }
  return is_good || tokenizer_refuse(r, "not enough memory");
}

static bool check_code(TokenizerReading *r, const char *place, pcre2_code *code) {
  uint32_t is_empty = 0;
  (void)pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &is_empty);
  if (is_empty)
    return tokenizer_refuse(r, "%s.pattern matches an empty text, which is not built", place);
  return true;
}

pcre2_code *pattern_compile(TokenizerReading *r, const char *place, const char *pattern,
                            bool is_literal) {
  ByteBuffer text = {0};
  int fault = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code *code = NULL;
  PCRE2_UCHAR reason[128] = "";
  /* Oniguruma's ^ and $ are those of lines */
  uint32_t options = PCRE2_UTF | (is_literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE);
  bool is_good = is_literal ? bytes_add(&text, pattern, strlen(pattern)) ||
                                  tokenizer_refuse(r, "not enough memory")
                            : rewrite(r, place, pattern, &text);
  if (is_good)
    code = pcre2_compile((PCRE2_SPTR)text.at, text.count, options, &fault, &offset, NULL);
  if (is_good && !code) {
    (void)pcre2_get_error_message(fault, reason, sizeof reason);
    (void)tokenizer_refuse(r, "%s.pattern is refused: %s", place, (const char *)reason);
  }
  free(text.at);
  if (!code) return NULL;
  if (!check_code(r, place, code)) {
    pcre2_code_free(code);
    return NULL;
  }
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where there is none, it is interpreted */
  return code;
}
