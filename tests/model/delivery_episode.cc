#include "tests/model/delivery_episode.h"

#include <algorithm>
#include <optional>
#include <string>

namespace pleat::inline v0_1 {

void DeliveryEpisode::Apply(const Op& op) {
  const Named named = TokenOf(op);
  const auto [token, delivery, but_for_place] = named;
  const auto [letter, dead, ignored] = LetterOf(op);
  switch (op.verb) {
    case Verb::kPop: return Pop(op.n, op.range);
    case Verb::kLease: return Lease(op);
    case Verb::kAck: return Ack(named);
    case Verb::kNack:
      return ExpectOutcome(folder_.Nack(token, op.span, LeaseTime(op.at)),
                           model_.Nack(delivery, op.span, LeaseTime(op.at)));
    case Verb::kExtend: return Extend(op, token, delivery);
    case Verb::kScanDead: return ScanDeadLetters(op.n);
    case Verb::kRetryDead:
      return ExpectOutcome(folder_.RetryDeadLetter(letter), model_.RetryDeadLetter(dead));
    case Verb::kDropDead:
      return ExpectOutcome(folder_.DropDeadLetter(letter), model_.DropDeadLetter(dead));
    default: return agreement_.Fail("not about emissions");
  }
}

// One of the last ones, counted from the newest; as it is, or with something changed in it.
DeliveryEpisode::Named DeliveryEpisode::TokenOf(const Op& op) const {
  LeaseToken token{
      .epoch = config_.engine.internals.epoch.value_or(0), .lease = 1, .collection = 1};
  const size_t place = tokens_.empty() ? 0 : tokens_.size() - op.n % tokens_.size();
  if (place > 0) token = tokens_[place - 1];
  if (op.forgery == Forgery::kNone) return {token, place, place};
  switch (op.forgery) {
    case Forgery::kNone: break;
    case Forgery::kEpoch: ++token.epoch; break;
    case Forgery::kLease: token.lease += 1 + op.content; break;
    case Forgery::kGeneration: token.generation -= 1 + op.content; break;
    case Forgery::kCollection: token.collection += 1 + static_cast<uint32_t>(op.content); break;
    case Forgery::kPartition: token.partition += 1 + static_cast<uint32_t>(op.content); break;
    case Forgery::kPlace: token.place -= 1 + static_cast<uint32_t>(op.content); break;
  }
  // What was changed can happen to be another one.
  Named named{.token = token};
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const LeaseToken& known = tokens_[i];
    if (token == known) named.delivery = i + 1;
    LeaseToken there = token;
    there.place = known.place;
    if (there == known) named.but_for_place = i + 1;
  }
  return named;
}

// By itself, with the emission taken or not, and every second time in a call of several, with some of the
// latest deliveries before and behind it. A token with another place can still repeat an Ack().
void DeliveryEpisode::Ack(const Named& named) {
  if (++acks_ % 4 == 3) return AckAndTake(named);
  std::vector<Named> all{named};
  const bool together = acks_ % 2 == 0;
  if (together) {
    const size_t count = std::min<size_t>(tokens_.size(), acks_ % 7);
    for (size_t i = tokens_.size() - count; i < tokens_.size(); ++i) {
      const Named one{tokens_[i], i + 1, i + 1};
      all.insert(i % 2 == 0 ? all.begin() : all.end(), one);
    }
  }
  std::vector<LeaseToken> tokens;
  for (const Named& one : all) tokens.push_back(one.token);
  std::vector<LeaseOutcome> outcomes(all.size());
  const size_t done = together ? folder_.Ack(tokens, outcomes) : 0;
  if (!together) outcomes[0] = folder_.Ack(tokens[0]);
  size_t expected = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const LeaseOutcome outcome =
        all[i].delivery != 0 ? model_.Ack(all[i].delivery) : model_.AckAgain(all[i].but_for_place);
    ExpectOutcome(outcomes[i], outcome);
    if (together && outcome == LeaseOutcome::kDone) ++expected;
  }
  agreement_.Expect<uint64_t>("number of acks", done, expected);
}

void DeliveryEpisode::AckAndTake(const Named& named) {
  const std::optional<ModelGroup> lent = model_.LentBy(named.delivery);
  const LeaseOutcome outcome =
      named.delivery != 0 ? model_.Ack(named.delivery) : model_.AckAgain(named.but_for_place);
  const Acked<Chain> acked = folder_.AckAndTake(named.token);
  ExpectOutcome(acked.outcome, outcome);
  agreement_.Expect<uint64_t>("whether an ack gives the emission", acked.emission.has_value(),
                              lent.has_value());
  if (acked.emission && lent) ExpectEmission(*acked.emission, *lent);
}

// Half of the time that of a dead letter, if there is one.
DeliveryEpisode::Named DeliveryEpisode::LetterOf(const Op& op) const {
  const bool about_letters = op.verb == Verb::kRetryDead || op.verb == Verb::kDropDead;
  if (!about_letters || op.n % 2 == 0) return TokenOf(op);
  const std::vector<ModelLetter> letters = model_.DeadLetters();
  if (letters.empty()) return TokenOf(op);
  const uint64_t delivery = letters[op.n / 2 % letters.size()].delivery;
  return {tokens_[delivery - 1], delivery, delivery};
}

template <class Key>
void DeliveryEpisode::ExpectEmission(const Emission<Chain, Key>& emission,
                                     const ModelGroup& model) {
  agreement_.Expect("emission's key", std::string(emission.key), model.key);
  agreement_.Expect<uint64_t>("emission's count", emission.count, model.events.size());
  agreement_.Expect("emission's first", emission.first, model.first);
  agreement_.Expect("emission's last", emission.last, model.last);
  agreement_.Expect("emission's reason", emission.reason, model.reason);
  agreement_.Expect("emission's closed", emission.closed, model.closed);
  agreement_.Expect<uint64_t>("emission's revision", emission.revision, model.revision);
  agreement_.Expect<uint64_t>("emission's partial", emission.partial, model.partial);
  agreement_.Expect("emission's id", emission.id, model.id);
  agreement_.Expect("emission's corrects", emission.corrects, model.corrects);
  ExpectState(emission.state, model, agreement_);
  seen_.reasons.insert(model.reason);
}

// Into a vector, and every second time into a buffer.
void DeliveryEpisode::Pop(size_t max, PartitionRange from) {
  const auto expect = [&](const auto& emissions) {
    const std::vector<ModelGroup> expected = model_.Pop(max, from);
    for (size_t i = 0; i < std::min(emissions.size(), expected.size()); ++i) {
      ExpectEmission(emissions[i], expected[i]);
    }
    agreement_.Expect<uint64_t>("number of emissions", emissions.size(), expected.size());
  };
  if (pops_++ % 2 == 0) {
    expect(folder_.Pop(max, from));
  } else {
    expect(folder_.Pop(max, popped_, from));
  }
}

void DeliveryEpisode::Extend(const Op& op, const LeaseToken& token, uint64_t delivery) {
  const Extension extension = folder_.Extend(token, op.span, LeaseTime(op.at));
  const Extension expected = model_.Extend(delivery, op.span, LeaseTime(op.at));
  ExpectOutcome(extension.outcome, expected.outcome);
  agreement_.Expect("until of an extension", extension.until, expected.until);
}

// As Pop(), and every third time looked at where they are.
void DeliveryEpisode::Lease(const Op& op) {
  const LeaseTime now(op.at);
  switch (leases_++ % 3) {
    case 0: return ExpectLeases(op, folder_.Lease(op.n, op.span, now, op.range));
    case 1: return ExpectLeases(op, folder_.Lease(op.n, op.span, now, lent_, op.range));
    default: break;
  }
  struct Looked : Emission<Chain> {
    Delivery delivery;
  };
  std::vector<Looked> looked;
  const auto look = [&](const LeasedRef<Chain>& lease) {
    looked.push_back({{lease, std::string(lease.key), lease.state}, lease.delivery});
  };
  const size_t lent = folder_.LeaseEach(op.n, op.span, now, look, op.range);
  agreement_.Expect<uint64_t>("number of looks", looked.size(), lent);
  ExpectLeases(op, looked);
}

template <class Leases>
void DeliveryEpisode::ExpectLeases(const Op& op, const Leases& leases) {
  const std::vector<ModelLease> expected = model_.Lease(op.n, op.span, op.range, LeaseTime(op.at));
  for (size_t i = 0; i < std::min(leases.size(), expected.size()); ++i) {
    const Delivery& delivery = leases[i].delivery;
    const LeaseToken& token = delivery.token;
    const ModelLease& model = expected[i];
    ExpectEmission(leases[i], model.emission);
    agreement_.Expect<uint64_t>("deliveries of a lease", delivery.deliveries, model.deliveries);
    agreement_.Expect("until of a lease", delivery.until, model.until);
    agreement_.Expect<uint64_t>("epoch of a token", token.epoch, *config_.engine.internals.epoch);
    agreement_.Expect<uint64_t>("lease of a token", token.lease, model.of_partition);
    agreement_.Expect<uint64_t>("generation of a token", token.generation,
                                model.emission.id.generation);
    agreement_.Expect<uint64_t>("partition of a token", token.partition,
                                model.emission.id.partition);
    tokens_.push_back(token);
  }
  agreement_.Expect<uint64_t>("number of leases", leases.size(), expected.size());
}

// In which order they are seen is nobody's promise: here by id.
void DeliveryEpisode::ScanDeadLetters(size_t step) {
  std::vector<ModelLetter> expected = model_.DeadLetters();
  std::vector<DeadLetter<Chain>> letters;
  ScanCursor cursor;
  for (bool more = true; more;) {
    const size_t before = letters.size();
    more = folder_.ScanDeadLetters(cursor, step, letters);
    agreement_.Expect<uint64_t>("whether a step of a scan is too long",
                                letters.size() - before > step, false);
    if (letters.size() > expected.size()) break;  // it need not come to an end
  }
  agreement_.Expect<uint64_t>("number of dead letters", letters.size(), expected.size());
  const auto order = [](EmissionId a, EmissionId b) {
    return std::pair(a.partition, a.generation) < std::pair(b.partition, b.generation);
  };
  std::sort(letters.begin(), letters.end(),
            [&](const auto& a, const auto& b) { return order(a.id, b.id); });
  std::sort(expected.begin(), expected.end(),
            [&](const auto& a, const auto& b) { return order(a.emission.id, b.emission.id); });
  for (size_t i = 0; i < std::min(letters.size(), expected.size()); ++i) {
    const Death& death = letters[i].death;
    const ModelLetter& model = expected[i];
    ExpectEmission(letters[i], model.emission);
    agreement_.Expect<uint64_t>("whether a letter's token is that of its last delivery",
                                death.token == tokens_.at(model.delivery - 1), true);
    agreement_.Expect<uint64_t>("deliveries of a letter", death.deliveries, model.deliveries);
    agreement_.Expect("first_leased of a letter", death.first_leased, model.first_leased);
    agreement_.Expect("died of a letter", death.died, model.died);
    agreement_.Expect("why of a letter", death.why, model.why);
    seen_.deaths.insert(model.why);
  }
}

void DeliveryEpisode::DropAllDeadLetters() {
  for (const ModelLetter& letter : model_.DeadLetters()) {
    ExpectOutcome(folder_.DropDeadLetter(tokens_[letter.delivery - 1]),
                  model_.DropDeadLetter(letter.delivery));
  }
}

void DeliveryEpisode::ExpectOutcome(LeaseOutcome engine, LeaseOutcome model) {
  agreement_.Expect("outcome", engine, model);
  seen_.lease_outcomes.insert(model);
}

void ExpectState(const Chain& state, const ModelGroup& model, Agreement& agreement) {
  const Chain expected = Chain::Of(model.events);
  agreement.Expect("state's hash", state.hash, expected.hash);
  agreement.Expect("state's text", state.text, expected.text);
}

}  // namespace pleat::inline v0_1
