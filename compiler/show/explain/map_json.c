/* map_json.c -- where each rank is, for programs. */
#include "compiler/show/explain/where.h"
#include "compiler/show/explain/words.h"

static void print_text(const Plan *plan, const char *name, uint32_t text, FILE *out) {
  fprintf(out, ",\"%s\":", name);
  print_json_text(plan_string(plan, text), out);
}

static void print_seat(const Plan *plan, const PlanSeat *seat, FILE *out) {
  if (seat->numa != PLAN_NONE) fprintf(out, ",\"numa\":%u", seat->numa);
  print_text(plan, "pci", seat->pci, out);
  print_text(plan, "nic", seat->nic, out);
  print_text(plan, "cores", seat->cores, out);
}

static void print_rank(const Plan *plan, uint32_t rank, FILE *out) {
  RankPlace place = plan_place(plan, rank);
  RankWhere where = where_is(plan, rank);
  fprintf(out, "{\"rank\":%u,\"node\":%u,\"device\":%u", rank, place.node, place_device(&place));
  for (int32_t w = 0; w < ORDER_WORDS; w++)
    fprintf(out, ",\"%s\":%u", where_names[w], where.at[w]);
  if (place.seat) print_seat(plan, place.seat, out);
  fputc('}', out);
}

void explain_map_json(const Compiled *compiled, FILE *out) {
  const Choice *choice = &compiled->choice;
  Arena *arena = compiled->draft->compile->arena;
  uint32_t count = (uint32_t)rank_count(compiled);
  fprintf(out, "{\"version\":1,\"order\":\"%s\",\"communication_s\":%.9g,\n \"orders\":[",
          order_text(arena, &choice->taken->order), choice->taken_s);
  for (int32_t i = 0; i < choice->orders; i++)
    fprintf(out, "%s{\"order\":\"%s\",\"communication_s\":%.9g,\"tp_leaves_domain\":%s}",
            i > 0 ? "," : "", order_text(arena, &choice->order[i].order), choice->order[i].seconds,
            choice->order[i].leaves_domain ? "true" : "false");
  fputs("],\n \"ranks\":[", out);
  for (uint32_t rank = 0; rank < count; rank++) {
    fputs(rank > 0 ? ",\n  " : "\n  ", out);
    print_rank(&compiled->plan, rank, out);
  }
  fputs("]}\n", out);
}
