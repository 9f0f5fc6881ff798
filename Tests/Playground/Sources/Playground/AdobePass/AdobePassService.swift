import PosternJSON
import PosternSupport

/// The state of the service, and what its calls share.
struct AdobePassService: Sendable {
  let settings: AdobePassSettings
  let clock: any EngineClock
  /// The address of the playground.
  let origin: String
  let sessions = AdobePassSessions()
  let profiles = AdobePassProfiles()
  let trials = AdobePassTrials()

  /// The time in milliseconds since 1970.
  var now: Int64 { clock.wallNow.millisecondsSinceEpoch }

  /// A URL in an answer. It is a bare path, as in most samples, unless the setting makes it absolute.
  func url(_ path: String) -> JSONValue { .string((settings.values.absoluteURLs ? origin : "") + path) }

  /// The start of the API's paths for a service provider.
  static func path(_ serviceProvider: String) -> String { "/adobe/api/v2/" + PercentCoding.encode(serviceProvider) }

  /// Makes a profile of `user` for `session`, whose MVPD is known.
  func logIn(_ user: PlaygroundUser, in session: AdobePassSession, at mvpd: String) {
    let now = now
    profiles.add(
      AdobePassProfile(
        binding: session.binding, subjects: session.subjects, mvpd: mvpd, origin: .browser, user: user.subject,
        notBefore: now, notAfter: now + settings.values.lifetimes.profile * 1000))
  }

  /// The profile while logins are degraded.
  func degradedProfile(_ mvpd: String) -> JSONValue {
    let now = now
    return [
      "notBefore": .integer(now), "notAfter": .integer(now + settings.values.lifetimes.profile * 1000),
      "issuer": "Adobe", "type": "degraded",
      "attributes": [
        "userID": ["value": .string("95cf93bcd183214a-\(mvpd)"), "state": "plain"]
      ],
    ]
  }

  /// An answer of profiles.
  static func profiles(_ profiles: [(String, JSONValue)]) -> JSONValue { ["profiles": .object(JSONObject(profiles))] }

  /// Forgets everything but clients.
  func clear() {
    sessions.clear()
    profiles.clear()
    trials.clear()
  }
}
