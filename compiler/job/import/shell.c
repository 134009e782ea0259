/* shell.c -- scripts and command lines: words, quotes, comments, variables and their sums. Nothing
 * is run: what needs more than that ($1, $(...), a value that is set under an if) makes a value
 * unread. */
#include "compiler/job/import/shell.h"

#include <ctype.h>
#include <string.h>

#include "compiler/job/import/sum.h"

enum { EXPANDED_MOST = 1 << 16 };

typedef struct Variable {
  const char *name;
  ShellWords values;
  Span at;
  bool is_unread, is_exported, is_used;
  bool is_list; /* NAME=(...) */
} Variable;

typedef struct Shell {
  Import *im;
  const char *at, *end, *line_start;
  int32_t line, depth; /* inside if, for, a function */
  ShellWords here;     /* the end words of the here-documents (<<) that begin after this line */
  VEC(Variable)
  variables;
} Shell;

static Span place(const Shell *s) {
  return (Span){
      .file = s->im->file, .line = s->line, .column = (int32_t)(s->at - s->line_start) + 1};
}

static Variable *find(Shell *s, const char *name, size_t length) {
  for (int32_t i = s->variables.count; i-- > 0;) {
    Variable *known = &s->variables.at[i];
    if (strlen(known->name) == length && memcmp(known->name, name, length) == 0) return known;
  }
  return NULL;
}

static size_t name_length(const char *text) {
  if (!isalpha((unsigned char)*text) && *text != '_') return 0;
  size_t length = 0;
  while (isalnum((unsigned char)text[length]) || text[length] == '_')
    length++;
  return length;
}

/* ---- expansion of one word */

typedef struct Expansion {
  Shell *s;
  ShellWords *out;
  char *text; /* the word that is being made */
  size_t count, room;
  ShellPieces pieces;
  bool has_word;
  bool is_unread; /* all of it: it is too long, or an unread value has no text */
  bool is_whole;  /* the value of NAME=: blanks do not part it */
} Expansion;

static bool continues(const ShellPiece *last, size_t count, Span at) {
  return last->at.line == at.line && at.column - last->at.column == (int32_t)(count - last->from);
}

static void put(Expansion *x, const char *text, size_t length, Span at, bool is_unread) {
  Arena *arena = x->s->im->c->arena;
  x->has_word = true;
  if (x->count + length > EXPANDED_MOST) {
    x->is_unread = true;
    return;
  }
  if (x->count + length + 1 > x->room) {
    x->room = (x->count + length + 1) * 2 + 64;
    x->text = arena_grow(arena, x->text, x->count, x->room);
  }
  const ShellPiece *last = x->pieces.count > 0 ? &x->pieces.at[x->pieces.count - 1] : NULL;
  if (length > 0 && (!last || last->is_unread != is_unread || !continues(last, x->count, at)))
    VEC_PUSH(arena, &x->pieces, (ShellPiece){x->count, at, is_unread});
  memcpy(x->text + x->count, text, length);
  x->count += length;
}

static void end_word(Expansion *x, Span at) {
  if (!x->has_word) return;
  Arena *arena = x->s->im->c->arena;
  ShellWord word = {.text = arena_copy_n(arena, x->text ? x->text : "", x->count),
                    .at = x->pieces.count > 0 ? x->pieces.at[0].at : at,
                    .is_unread = x->is_unread,
                    .pieces = x->pieces};
  for (int32_t i = 0; i < word.pieces.count; i++)
    word.is_unread |= word.pieces.at[i].is_unread;
  VEC_PUSH(arena, x->out, word);
  x->pieces = (ShellPieces){0};
  x->count = 0;
  x->has_word = x->is_unread = false;
}

static bool sum_name(void *data, const char *name, size_t length, double *number) {
  Variable *known = find(data, name, length);
  if (!known || known->is_unread || known->values.count != 1) return false;
  known->is_used = true;
  return sum_read_whole(known->values.at[0].text, NULL, NULL, number);
}

/* $((...)) at `at`; the end, or NULL. */
static const char *expand_sum(Expansion *x, const char *at, const char *end) {
  const char *close = at + 3;
  int depth = 2;
  for (; close < end && depth > 0; close++)
    depth += *close == '(' ? 1 : *close == ')' ? -1 : 0;
  if (depth > 0) return NULL;
  char *plain = arena_copy_n(x->s->im->c->arena, at + 3, (size_t)(close - at) - 5), *to = plain;
  for (const char *p = plain; *p; p++)
    if (*p != '$' && *p != '{' && *p != '}') *to++ = *p;
  *to = 0;
  double number;
  if (!sum_read_whole(plain, sum_name, x->s, &number)) return NULL;
  const char *text = arena_printf(x->s->im->c->arena, "%lld", (long long)number);
  put(x, text, strlen(text), place(x->s), false);
  return close;
}

/* Each piece of a value keeps its place: a script's options are often the words of one variable. */
static void put_value(Expansion *x, const ShellWord *value, bool is_parted, bool is_unread) {
  const ShellPieces *pieces = &value->pieces;
  const size_t size = strlen(value->text);
  int32_t piece = 0;
  for (size_t i = 0, width; i < size; i += width) {
    while (piece + 1 < pieces->count && pieces->at[piece + 1].from <= i)
      piece++;
    const ShellPiece *of = &pieces->at[piece];
    const size_t stop = piece + 1 < pieces->count ? pieces->at[piece + 1].from : size;
    Span at = of->at;
    at.column += (int32_t)(i - of->from);
    width = is_parted ? strcspn(value->text + i, " \t\r\n") : stop - i;
    if (width > stop - i) width = stop - i;
    if (width > 0) {
      put(x, value->text + i, width, at, is_unread || of->is_unread);
    } else {
      end_word(x, at);
      width = 1;
    }
    if (x->out->count > KEYS_MOST) return;
  }
  if (size == 0) x->is_unread |= is_unread || value->is_unread;
}

/* A quoted list is as many words as it has values, none included. */
static void put_variable(Expansion *x, Variable *known, bool is_quoted, Span at) {
  known->is_used = true;
  for (int32_t i = 0; i < known->values.count; i++) {
    if (i > 0 && x->is_whole) put(x, " ", 1, at, false);
    if (i > 0 && !x->is_whole) end_word(x, at);
    if (is_quoted) x->has_word = true;
    put_value(x, &known->values.at[i], !is_quoted && !x->is_whole, known->is_unread);
    if (x->out->count > KEYS_MOST) return;
  }
  if (known->values.count == 0) x->has_word = x->count > 0;
}

/* After the } of ${NAME:-"${OTHER}/$(date)"}: braces and quotes are inside it. */
static const char *brace_end(const char *at, const char *end) {
  for (int32_t depth = 1; at < end; at++) {
    if (*at == '\\' && at + 1 < end)
      at++;
    else if (*at == '{')
      depth++;
    else if (*at == '}' && --depth == 0)
      return at + 1;
  }
  return end;
}

/* Reads an expansion, which begins with $; returns its end. */
static const char *expand_dollar(Expansion *x, const char *at, const char *end, bool is_quoted,
                                 Span place_of_word) {
  if (strncmp(at, "$((", 3) == 0) {
    const char *after = expand_sum(x, at, end);
    if (after) return after;
  }
  bool has_brace = at[1] == '{';
  const char *name = at + (has_brace ? 2 : 1);
  size_t length = name_length(name);
  const char *after = name + length;
  if (has_brace && (strncmp(after, "[@]}", 4) == 0 || strncmp(after, "[*]}", 4) == 0)) after += 3;
  bool is_whole = length > 0 && (!has_brace || *after == '}');
  Variable *known = is_whole ? find(x->s, name, length) : NULL;
  if (known) {
    put_variable(x, known, is_quoted, place_of_word);
    return after + has_brace;
  }
  Variable *own = has_brace && strncmp(after, ":-", 2) == 0 ? find(x->s, name, length) : NULL;
  if (own && own->values.count == 1 && *own->values.at[0].text) {
    put_variable(x, own, is_quoted, place_of_word);
    return brace_end(after, end);
  }
  /* $1, $(...), ${X:-1}, a name of the environment */
  if (at[1] == '(') {
    int depth = 0;
    const char *close = at + 1;
    for (; close < end; close++) {
      depth += *close == '(' ? 1 : *close == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    after = close < end ? close + 1 : end;
  } else if (has_brace) {
    after = brace_end(after, end);
  } else if (length == 0) {
    after = at + (at + 1 < end && at[1] != '"' && at[1] != ' ' ? 2 : 1);
  }
  put(x, at, (size_t)(after - at), place(x->s), true);
  return after;
}

/* ---- words */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static void step(Shell *s) {
  if (*s->at == '\n') {
    s->line++;
    s->line_start = s->at + 1;
  }
  s->at++;
}

static void skip_to_word(Shell *s) {
  while (s->at < s->end) {
    if (is_blank(*s->at)) {
      s->at++;
    } else if (*s->at == '\\' && s->at[1] == '\n') {
      s->at++;
      step(s);
    } else if (*s->at == '\\' && s->at[1] == '\r' && s->at[2] == '\n') {
      s->at += 2;
      step(s);
    } else if (*s->at == '#') {
      while (s->at < s->end && *s->at != '\n')
        s->at++;
    } else {
      return;
    }
  }
}

static void run_to(Shell *s, const char *to) {
  while (s->at < to && s->at < s->end)
    step(s);
}

/* Puts the text from s->at to `to` as it is written. */
static void put_source(Expansion *x, const char *to, bool is_unread) {
  for (Shell *s = x->s; s->at < to && s->at < s->end; step(s))
    put(x, s->at, 1, place(s), is_unread);
}

/* One word at s->at, expanded into `out`. False: a quote does not end. */
static bool read_word(Shell *s, ShellWords *out, bool is_whole) {
  Expansion x = {.s = s, .out = out, .is_whole = is_whole};
  Span at = place(s);
  bool is_quoted = false;
  while (s->at < s->end) {
    char c = *s->at;
    if (!is_quoted && (is_blank(c) || strchr("\n;&|<>()", c))) break;
    if (c == '"') {
      is_quoted = !is_quoted;
      x.has_word |= is_quoted;
      s->at++;
    } else if (c == '\'' && !is_quoted) {
      const char *close = memchr(s->at + 1, '\'', (size_t)(s->end - s->at - 1));
      if (!close) return error_at(s->im->c, at, "import-syntax", "this quote does not end");
      x.has_word = true;
      s->at++;
      put_source(&x, close, false);
      s->at = close + 1;
    } else if (c == '\\' && s->at + 1 < s->end) {
      if (s->at[1] == '\n' && !is_quoted) break;
      s->at++;
      if (*s->at != '\n') put(&x, s->at, 1, place(s), false);
      step(s);
    } else if (c == '$' && s->at + 1 < s->end) {
      run_to(s, expand_dollar(&x, s->at, s->end, is_quoted, at));
    } else if (c == '`') {
      const char *close = memchr(s->at + 1, '`', (size_t)(s->end - s->at - 1));
      put_source(&x, close ? close + 1 : s->end, true);
    } else {
      put_source(&x, s->at + 1, false);
    }
    if (out->count > KEYS_MOST) return error_at(s->im->c, at, "limit", "more than 10,000 words");
  }
  if (is_quoted) return error_at(s->im->c, at, "import-syntax", "this quote does not end");
  end_word(&x, at);
  return true;
}

/* ---- assignments */

/* Text after text, as NAME+= says it. */
static ShellWord join(Shell *s, const ShellWord *first, const ShellWord *second) {
  ShellWords joined = {0};
  Expansion x = {.s = s, .out = &joined, .has_word = true};
  put_value(&x, first, false, false);
  put_value(&x, second, false, s->depth > 0);
  end_word(&x, first->at);
  return joined.at[0];
}

/* Values that are added under an if are unread; the values from before stay known. */
static void add_values(Shell *s, Variable *known, const ShellWords *values, bool is_list) {
  if (!is_list && !known->is_list && known->values.count == 1 && values->count == 1) {
    known->values.at[0] = join(s, &known->values.at[0], &values->at[0]);
    return;
  }
  known->is_list = true;
  for (int32_t i = 0; i < values->count; i++) {
    ShellWord value = values->at[i];
    value.is_unread |= s->depth > 0;
    for (int32_t k = 0; k < value.pieces.count; k++)
      value.pieces.at[k].is_unread |= s->depth > 0;
    VEC_PUSH(s->im->c->arena, &known->values, value);
  }
}

static void set_variable(Shell *s, const char *name, const ShellWords *values, Span at,
                         bool is_list) {
  Variable *known = find(s, name, strlen(name));
  bool is_changed = known && s->depth > 0;
  if (known) {
    known->values = *values;
    known->at = at;
    known->is_unread = is_changed;
    known->is_list = is_list;
    return;
  }
  VEC_PUSH(s->im->c->arena, &s->variables,
           (Variable){.name = name,
                      .values = *values,
                      .at = at,
                      .is_unread = s->depth > 0,
                      .is_list = is_list});
}

/* The words of (...) at s->at. False: reported. */
static bool read_list(Shell *s, Span at, ShellWords *values) {
  s->at++;
  for (;;) {
    skip_to_word(s);
    while (s->at < s->end && *s->at == '\n') {
      step(s);
      skip_to_word(s);
    }
    if (s->at >= s->end) return error_at(s->im->c, at, "import-syntax", "this ( is not closed");
    if (*s->at == ')') break;
    const char *before = s->at;
    if (!read_word(s, values, false)) return false;
    if (s->at == before) s->at++;
  }
  s->at++;
  return true;
}

/* NAME=value, NAME=(...), NAME+=(...) at s->at. 1: it was one, 0: it is none, -1: reported. */
static int take_assignment(Shell *s, bool is_exported) {
  size_t length = name_length(s->at);
  const char *sign = s->at + length;
  bool is_more = sign + 1 < s->end && sign[0] == '+' && sign[1] == '=';
  if (length == 0 || sign >= s->end || (*sign != '=' && !is_more)) return 0;
  Span at = place(s);
  const char *name = arena_copy_n(s->im->c->arena, s->at, length);
  ShellWords values = {0};
  s->at = sign + (is_more ? 2 : 1);
  const bool is_list = s->at < s->end && *s->at == '(';
  if (is_list) {
    if (!read_list(s, at, &values)) return -1;
  } else {
    if (!read_word(s, &values, true)) return -1;
    if (values.count == 0) VEC_PUSH(s->im->c->arena, &values, (ShellWord){.text = "", .at = at});
  }
  Variable *known = find(s, name, length);
  if (is_more && known)
    add_values(s, known, &values, is_list);
  else
    set_variable(s, name, &values, at, is_list);
  known = find(s, name, length);
  known->is_exported |= is_exported;
  return 1;
}

/* ---- commands */

static bool is_one_of(const char *word, const char *list) {
  for (const char *at = list; *at; at += strspn(at, " ")) {
    size_t width = strcspn(at, " ");
    if (strlen(word) == width && strncmp(word, at, width) == 0) return true;
    at += width;
  }
  return false;
}

static size_t bare_word(const Shell *s) {
  size_t width = 0;
  while (s->at + width < s->end && !is_blank(s->at[width]) &&
         !strchr("\n;&|<>()\"'$", s->at[width]))
    width++;
  return width;
}

/* Words such as then and fi, before a command. */
static void take_structure(Shell *s) {
  for (;;) {
    skip_to_word(s);
    const char *word = arena_copy_n(s->im->c->arena, s->at, bare_word(s));
    if (is_one_of(word, "if for while until case {"))
      s->depth++;
    else if (is_one_of(word, "fi done esac }"))
      s->depth -= s->depth > 0;
    else if (!is_one_of(word, "then else elif do !"))
      return;
    if (is_one_of(word, "for case")) { /* a name, and words: not a command */
      while (s->at < s->end && *s->at != '\n' && *s->at != ';')
        step(s);
      return;
    }
    s->at += strlen(word);
  }
}

static bool is_line(const Shell *s, const char *end, const char *word) {
  const char *at = s->at;
  size_t width = strlen(word);
  while (at < end && *at == '\t') /* of <<-: tabs before its end word are ignored */
    at++;
  while (end > at && end[-1] == '\r')
    end--;
  return (size_t)(end - at) == width && memcmp(at, word, width) == 0;
}

/* After the end of a line: documents are no commands. */
static void skip_documents(Shell *s) {
  for (int32_t i = 0; i < s->here.count; i++)
    for (bool is_end = false; s->at < s->end && !is_end;) {
      const char *end = memchr(s->at, '\n', (size_t)(s->end - s->at));
      if (end == NULL) end = s->end;
      is_end = is_line(s, end, s->here.at[i].text);
      run_to(s, end + 1);
    }
  s->here.count = 0;
}

/* A redirection and its word. False: reported. */
static bool take_redirection(Shell *s) {
  ShellWords word = {0};
  bool is_document = s->at + 2 < s->end && s->at[0] == '<' && s->at[1] == '<' && s->at[2] != '<';
  while (s->at < s->end && strchr("<>&|", *s->at))
    s->at++;
  if (is_document && s->at < s->end && *s->at == '-') s->at++;
  skip_to_word(s);
  if (s->at < s->end && *s->at != '\n' && !read_word(s, &word, false)) return false;
  if (is_document && word.count > 0) VEC_PUSH(s->im->c->arena, &s->here, word.at[0]);
  return true;
}

/* The words of one command. False: reported. */
static bool read_command(Shell *s, ShellWords *words) {
  bool is_begin = true, is_exported = false;
  take_structure(s);
  for (;;) {
    skip_to_word(s);
    if (s->at >= s->end || strchr("\n;&|()", *s->at)) break;
    if (strchr("<>", *s->at)) {
      if (!take_redirection(s)) return false;
      continue;
    }
    if (is_begin) {
      int taken = take_assignment(s, is_exported);
      if (taken < 0) return false;
      if (taken > 0) continue;
      const char *word = arena_copy_n(s->im->c->arena, s->at, bare_word(s));
      if (is_one_of(word, "export declare local readonly env")) {
        is_exported = true;
        s->at += strlen(word);
        continue;
      }
    }
    is_begin = false;
    if (!read_word(s, words, false)) return false;
  }
  while (s->at < s->end && strchr("\n;&|()", *s->at)) {
    const bool is_end = *s->at == '\n';
    step(s);
    if (is_end) skip_documents(s);
  }
  return true;
}

static bool keep_variables(Shell *s) {
  for (int32_t i = 0; i < s->variables.count; i++) {
    Variable *known = &s->variables.at[i];
    bool is_known =
        words_find(s->im->c->arena, word_tool_find("variables"), known->name).list.count > 0 ||
        words_find(s->im->c->arena, word_tool_find("nccl"), known->name).list.count > 0;
    if (known->is_used && !is_known) continue;
    const char *text = known->values.count > 0 ? known->values.at[0].text : "";
    Leaf *leaf =
        leaf_add(s->im, known->name, known->is_unread ? LEAF_UNREAD : LEAF_TEXT, text, known->at);
    if (!leaf) return false;
    leaf->tool = word_tool_find("variables");
    if (!is_known)
      drop(leaf, HOW_DECLINED, "a variable of the script that its command does not use", false);
    if (is_known &&
        (known->is_unread || (known->values.count > 0 && known->values.at[0].is_unread)))
      drop(leaf, HOW_UNREAD, "its value is known only when the script runs", false);
  }
  return true;
}

bool read_shell(Import *im, const char *text, size_t size) {
  Shell s = {.im = im, .at = text, .end = text + size, .line_start = text, .line = 1};
  while (s.at < s.end) {
    ShellWords words = {0};
    if (!read_command(&s, &words)) return false;
    if (words.count > 0 && !command_leaves(im, &words)) return false;
  }
  return keep_variables(&s);
}
