import PosternJSON
import PosternSupport

/// A login of a user at an MVPD.
struct AdobePassProfile: Sendable {
  /// The way it came about.
  enum Origin: String, Sendable {
    case browser, partner
  }

  let binding: AdobePassBinding
  let subjects: AdobePassSubjects
  let mvpd: String
  let origin: Origin
  /// `sub` of the user.
  let user: String
  let notBefore: Int64
  var notAfter: Int64
  /// Whether the MVPD has ended it before its time.
  var isInvalidated = false
  /// Whether a decision to authorize has added to its attributes.
  var isEnriched = false

  /// The profile as `type`, with attributes of every kind.
  func json(as type: String) -> JSONValue {
    func plain(_ value: JSONValue) -> JSONValue { ["value": value, "state": "plain"] }
    var attributes: JSONObject = [
      "userID": plain(.string("\(user)@\(mvpd)")), "upstreamUserID": plain(.string("upstream-\(user)")),
      "zip": plain(["10001", "10002"]), "encryptedZip": ["value": "bm90IGEgemlw", "state": "enc"],
      "maxRating": plain(["MPAA": "PG-13", "VCHIP": "TV-14"]), "channelID": plain(["news", "sports"]),
      "language": plain("en"), "typeID": plain(3), "hba_status": plain("false"),
    ]
    if isEnriched {
      attributes["householdID"] = plain(.string("household-\(user)"))
      attributes["maxRating"] = plain(["MPAA": "R", "VCHIP": "TV-MA"])
    }
    return [
      "notBefore": .integer(notBefore), "notAfter": .integer(notAfter),
      "issuer": .string(origin == .partner ? "Apple" : mvpd), "type": .string(type), "attributes": .object(attributes),
    ]
  }
}

/// The profiles, those that are over included.
final class AdobePassProfiles: Sendable {
  private static let limit = 10_000

  /// The profile that a request finds at an MVPD, or the reason that it finds none.
  enum Finding: Sendable {
    /// A profile that counts, as this type.
    case live(AdobePassProfile, type: String)
    /// The error of one that does not.
    case fault(AdobePassError)
  }

  private let profiles = Locked<[AdobePassProfile]>([])

  /// Adds a profile; one of the same binding, MVPD and origin is replaced.
  func add(_ profile: AdobePassProfile) {
    profiles.withLock { profiles in
      profiles.removeAll { $0.binding == profile.binding && $0.mvpd == profile.mvpd && $0.origin == profile.origin }
      if profiles.count >= Self.limit { profiles.removeFirst() }
      profiles.append(profile)
    }
  }

  /// The finding of `request` at `mvpd`: the device's own login, or one that its tokens share.
  func finding(_ mvpd: String, for request: AdobePassRequest, at now: Int64) -> Finding {
    let here = profiles.withLock { $0 }
      .filter { $0.mvpd == mvpd && $0.binding.serviceProvider == request.binding.serviceProvider }
    var fault: AdobePassError?
    for profile in here.filter({ $0.binding == request.binding }) + here.filter({ $0.binding != request.binding }) {
      guard let type = Self.type(of: profile, for: request.binding, request.subjects) else { continue }
      if profile.isInvalidated {
        fault = AdobePassError("authenticated_profile_invalidated")
      } else if now >= profile.notAfter {
        fault = AdobePassError("authenticated_profile_expired")
      } else if let unproven = profile.origin == .partner ? Self.fault(of: request, mvpd, now) : nil {
        fault = unproven
      } else {
        return .live(profile, type: type)
      }
    }
    return .fault(fault ?? AdobePassError("authenticated_profile_missing"))
  }

  /// All that count for `request`, by MVPD.
  func all(for request: AdobePassRequest, at now: Int64) -> [(String, JSONValue)] {
    Set(profiles.withLock { $0.map(\.mvpd) }).sorted().compactMap { mvpd in
      guard case .live(let profile, let type) = finding(mvpd, for: request, at: now) else { return nil }
      return (mvpd, profile.json(as: type))
    }
  }

  /// The profile of `binding` by a login in a browser.
  func profile(of binding: AdobePassBinding, at mvpd: String, _ now: Int64) -> AdobePassProfile? {
    profiles.withLock { profiles in
      profiles.first {
        $0.binding == binding && $0.mvpd == mvpd && $0.origin == .browser && !$0.isInvalidated && now < $0.notAfter
      }
    }
  }

  /// Notes that `request` was authorized at `mvpd`.
  func enrich(_ mvpd: String, of binding: AdobePassBinding) {
    change { profile in
      if profile.binding == binding && profile.mvpd == mvpd { profile.isEnriched = true }
    }
  }

  /// Removes what `request` finds at its MVPD, and with a token the other profiles of its user there; the result is
  /// what counted.
  func remove(_ request: AdobePassRequest, at now: Int64) -> [AdobePassProfile] {
    profiles.withLock { profiles in
      let mine = { (profile: AdobePassProfile) in
        profile.mvpd == request.mvpd && profile.binding.serviceProvider == request.binding.serviceProvider
          && Self.type(of: profile, for: request.binding, request.subjects) != nil
      }
      let removed = profiles.filter(mine)
      profiles.removeAll(where: mine)
      return removed.filter { !$0.isInvalidated && now < $0.notAfter }
    }
  }

  /// Changes all of them.
  func change(_ change: (inout AdobePassProfile) -> Void) {
    profiles.withLock { profiles in
      for index in profiles.indices { change(&profiles[index]) }
    }
  }

  /// Forgets them.
  func clear() { profiles.withLock { $0 = [] } }

  /// All of them, for tests.
  var json: JSONValue {
    .array(
      profiles.withLock { $0 }.map { profile in
        [
          "serviceProvider": .string(profile.binding.serviceProvider), "device": .string(profile.binding.device),
          "mvpd": .string(profile.mvpd), "origin": .string(profile.origin.rawValue), "user": .string(profile.user),
          "notAfter": .integer(profile.notAfter), "invalidated": .bool(profile.isInvalidated),
        ]
      })
  }

  /// The type as which `binding` with tokens of `subjects` sees a profile; nil when it does not.
  private static func type(
    of profile: AdobePassProfile, for binding: AdobePassBinding, _ subjects: AdobePassSubjects
  ) -> String? {
    if profile.binding == binding { return profile.origin == .partner ? "appleSSO" : "regular" }
    guard profile.origin == .browser else { return nil }
    if let platform = subjects.platform, platform == profile.subjects.platform { return "platformSSO" }
    if let service = subjects.service, service == profile.subjects.service { return "serviceTokenSSO" }
    return nil
  }

  /// Why the partner's status in `request` does not open a partner's profile.
  private static func fault(of request: AdobePassRequest, _ mvpd: String, _ now: Int64) -> AdobePassError? {
    guard let partner = request.partner else {
      return AdobePassError("invalid_header_pfs_permission_access_not_present")
    }
    return partner.fault(for: mvpd, at: now)
  }
}
