/* order.c -- why ranks are placed as they are: every order of the axes that places them
 * differently, with the communication time of a step. */
#include <stdlib.h>
#include <string.h>

#include "compiler/show/explain/words.h"

const char *order_price_text(const Compiled *compiled) {
  const Choice *choice = &compiled->choice;
  const Job *job = compiled->job;
  Arena *arena = compiled->draft->compile->arena;
  bool is_own =
      job->set[FIELD_parallel_order] && job->origin[FIELD_parallel_order].kind != ORIGIN_DERIVED;
  if (!is_own || choice->taken_s <= 0) return NULL;
  const char *taken = arena_printf(arena, "order %s, as asked: %s of communication a step",
                                   order_text(arena, &choice->taken->order),
                                   format_seconds(arena, choice->taken_s));
  if (choice->taken_s <= choice->best_s * (1 + 1e-3))
    return arena_printf(arena, "%s; none needs less", taken);
  return arena_printf(arena, "%s, %.2f times the %s of %s", taken, choice->taken_s / choice->best_s,
                      format_seconds(arena, choice->best_s), order_text(arena, &choice->best));
}

/* Orders that keep tp in its domain come first, then by time. */
static int by_price(const void *a, const void *b) {
  const Alternative *x = *(const Alternative *const *)a, *y = *(const Alternative *const *)b;
  if (x->leaves_domain != y->leaves_domain) return x->leaves_domain ? 1 : -1;
  return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* The width of the column of orders. */
static int32_t order_width(const Compiled *compiled) {
  enum { WIDTH_LEAST = 14, WIDTH_MOST = 28 };
  const Choice *choice = &compiled->choice;
  int32_t width = WIDTH_LEAST;
  for (int32_t i = 0; i < choice->orders; i++) {
    const char *text = order_text(compiled->draft->compile->arena, &choice->order[i].order);
    if ((int32_t)strlen(text) > width) width = (int32_t)strlen(text);
  }
  return width < WIDTH_MOST ? width : WIDTH_MOST;
}

static void print_alternative(const Compiled *compiled, const Alternative *at, int32_t width,
                              FILE *out) {
  const Choice *choice = &compiled->choice;
  Arena *arena = compiled->draft->compile->arena;
  fprintf(out, "  %-*s %12s", width, order_text(arena, &at->order),
          format_seconds(arena, at->seconds));
  fprintf(out, " %+8.1f%%", 100 * (at->seconds / choice->taken_s - 1));
  if (at->leaves_domain)
    fprintf(out, "   tp leaves its %s", compiled->fabric->is_fast ? "fast links" : "node");
  fputs(at == &choice->order[choice->taken_order] ? "   <- taken\n" : "\n", out);
}

void explain_order(const Compiled *compiled, FILE *out) {
  const Choice *choice = &compiled->choice;
  Arena *arena = compiled->draft->compile->arena;
  if (rank_count(compiled) == 1) {
    fputs("one rank has one place\n", out);
    return;
  }
  if (choice->taken_s <= 0) {
    print_wrapped(out,
                  "no rate between ranks is known, so no order is better than another: the usual "
                  "one is kept (cluster.intra and cluster.inter set the rates)",
                  0, 4, SCREEN_COLUMNS);
    return;
  }
  const Alternative *sorted[ORDERS_MOST];
  for (int32_t i = 0; i < choice->orders; i++)
    sorted[i] = &choice->order[i];
  qsort(sorted, (size_t)choice->orders, sizeof *sorted, by_price);
  print_wrapped(out,
                arena_printf(arena,
                             "why there: of %d order%s in which axes fill nodes, by the "
                             "communication of a step, one after another, on the stage that has "
                             "most",
                             choice->orders, plural(choice->orders)),
                0, 4, SCREEN_COLUMNS);
  for (int32_t i = 0; i < choice->orders; i++)
    print_alternative(compiled, sorted[i], order_width(compiled), out);
  if (choice->usual_s > choice->taken_s * (1 + 1e-3))
    print_wrapped(
        out,
        arena_printf(arena, "%s on seats in the order of their devices: %s, %.2f times as long",
                     order_text(arena, &order_usual), format_seconds(arena, choice->usual_s),
                     choice->usual_s / choice->taken_s),
        0, 4, SCREEN_COLUMNS);
  const char *price = order_price_text(compiled);
  if (price) print_wrapped(out, price, 0, 4, SCREEN_COLUMNS);
}
