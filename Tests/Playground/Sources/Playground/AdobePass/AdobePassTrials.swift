import PosternJSON
import PosternSupport

/// The trials (TempPass): each begins with the first decision to authorize, and a device or identity that has been seen
/// goes on with its old one.
final class AdobePassTrials: Sendable {
  /// How long a trial lasts, and how many titles a promotional one has.
  struct Limits: Sendable {
    var seconds: Int64 = 600
    var titles: Int64 = 2
  }

  /// A trial that has begun.
  private struct Trial {
    let startedAt: Int64
    var titles: [String] = []
  }

  private struct State {
    /// The number of a trial by what it is known by.
    var numbers: [String: Int] = [:]
    var trials: [Trial] = []
  }

  private static let limit = 10_000

  private let state = Locked(State())

  /// The profile of a trial, or of the one that could begin at `now`. Fails when it is used up.
  func profile(
    _ mvpd: AdobePassMVPD, _ binding: AdobePassBinding, _ identity: String?, at now: Int64, _ limits: Limits
  ) throws(AdobePassError) -> JSONValue {
    let trial = state.withLock { state in Self.number(state, mvpd, binding, identity).map { state.trials[$0] } }
    let start = trial?.startedAt ?? now
    let used = trial?.titles ?? []
    if let fault = Self.fault(trial, mvpd, at: now, limits) { throw fault }
    func plain(_ value: JSONValue) -> JSONValue { ["value": value, "state": "plain"] }
    let end = start + limits.seconds * 1000
    var attributes: JSONObject = [
      "userID": plain(.string("temppass_\(binding.device)")), "expiration_date": plain(.integer(end)),
    ]
    if mvpd.trial == .promotional {
      attributes["remaining_resources"] = plain(.integer(limits.titles - Int64(used.count)))
      attributes["used_assets"] = plain(.array(used.map(JSONValue.string)))
    }
    return [
      "notBefore": .integer(start), "notAfter": .integer(end), "issuer": "Adobe", "type": "temporary",
      "attributes": .object(attributes),
    ]
  }

  /// Begins the trial where it has not, and counts `title`; the result is why it is used up. A title counts as often as
  /// it is authorized: with that a client that sends a request twice is found out.
  func use(
    _ title: String, _ mvpd: AdobePassMVPD, _ binding: AdobePassBinding, _ identity: String?, at now: Int64,
    _ limits: Limits
  ) -> AdobePassError? {
    state.withLock { state in
      let known = Self.number(state, mvpd, binding, identity)
      if let fault = Self.fault(known.map { state.trials[$0] }, mvpd, at: now, limits) { return fault }
      if known == nil {
        if state.trials.count >= Self.limit { state = State() }
        state.trials.append(Trial(startedAt: now))
      }
      let number = known ?? state.trials.count - 1
      for key in Self.keys(mvpd, binding, identity) { state.numbers[key] = number }
      if mvpd.trial == .promotional { state.trials[number].titles.append(title) }
      return nil
    }
  }

  /// Why the trial is used up, without counting.
  func fault(_ mvpd: AdobePassMVPD, _ binding: AdobePassBinding, at now: Int64, _ limits: Limits) -> AdobePassError? {
    state.withLock { state in
      Self.fault(Self.number(state, mvpd, binding, nil).map { state.trials[$0] }, mvpd, at: now, limits)
    }
  }

  /// Forgets all.
  func clear() { state.withLock { $0 = State() } }

  private static func keys(_ mvpd: AdobePassMVPD, _ binding: AdobePassBinding, _ identity: String?) -> [String] {
    let common = "\(binding.serviceProvider)\n\(mvpd.id)\n"
    return [common + "device\n" + binding.device] + (identity.map { [common + "identity\n" + $0] } ?? [])
  }

  private static func number(
    _ state: State, _ mvpd: AdobePassMVPD, _ binding: AdobePassBinding, _ identity: String?
  ) -> Int? {
    keys(mvpd, binding, identity).compactMap { state.numbers[$0] }.min()
  }

  private static func fault(_ trial: Trial?, _ mvpd: AdobePassMVPD, at now: Int64, _ limits: Limits) -> AdobePassError?
  {
    guard let trial else { return nil }
    if now >= trial.startedAt + limits.seconds * 1000 {
      return AdobePassError("temporary_access_duration_limit_exceeded")
    }
    if mvpd.trial == .promotional, trial.titles.count >= limits.titles {
      return AdobePassError("temporary_access_resources_limit_exceeded")
    }
    return nil
  }
}
