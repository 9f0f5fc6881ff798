import Entitlements
import OAuthClient
import PosternJSON
import PosternSupport

/// Reads a service provider's configuration, or has it in memory.
struct PassConfigurationCall {
  let call: PassCall

  func configuration(_ options: PassOptions) async throws(PassError) -> PassConfiguration {
    let exchange = try call.exchange(options, for: .configuration)
    let key = PassConfigurations.Key(call.provider.client, exchange.device)
    if var cached = call.state.configurations[key] {
      cached.isCached = true
      return cached
    }
    let shared = PassConfigurationCall(call: call.shared)
    let flight = PassConfigurations.Flight(key: key, uid: call.link.subject.uid)
    do throws(PassError) {
      return try await call.state.configurations.requests.value(for: flight, in: call.link.scope) {
        _ async throws(PassError) in
        if let cached = shared.call.state.configurations[key] { return cached }
        return try await shared.requestedConfiguration(options, key)
      }
    } catch {
      throw call.ended(error)
    }
  }

  private func requestedConfiguration(
    _ options: PassOptions, _ key: PassConfigurations.Key
  ) async throws(PassError) -> PassConfiguration {
    let exchange = try call.exchange(options, for: .configuration)
    let request = PassRequest(endpoint: .configuration, method: "GET", segments: ["configuration"])
    let answer = try await exchange.answer(request, isShared: true)
    let configuration = try answer.read { (answer) throws(PassError) in
      try PassConfiguration(
        answer.document, serviceProvider: call.provider.settings.serviceProvider,
        expiresAt: call.clock.wallNow + PassConfigurations.life)
    }
    call.state.configurations.set(configuration, for: key, of: call.link.subject.uid, bytes: answer.bytes)
    return configuration
  }
}

extension PassConfiguration {
  /// Reads the answer; `mvpds` is inside of `requestor`, or next to it.
  init(_ document: JSONValue, serviceProvider: String, expiresAt: Timestamp) throws(PassError) {
    let answer = try PassReading(document, "configuration")
    guard let requestor = try answer.object("requestor") else { throw .format("the configuration has no requestor") }
    self.serviceProvider = try requestor.identifier("id") ?? serviceProvider
    displayName = try requestor.text("name")
    var domains: [Domain] = []
    for value in try requestor.list("domains") {
      let domain = try PassReading(value, "domain")
      guard let name = try domain.identifier("name") else { throw .format("a domain has no name") }
      domains.append(Domain(name: name, isMVPDInitiated: try domain.flag("mvpdInitiated")))
    }
    self.domains = domains
    var mvpds: [PassMVPD] = []
    let given = try requestor["mvpds"] == nil ? answer.list("mvpds") : requestor.list("mvpds")
    guard given.count <= PassMVPD.maxCount else {
      throw .format("the configuration has more than \(PassMVPD.maxCount) MVPDs")
    }
    for value in given {
      mvpds.append(try PassMVPD(PassReading(value, "mvpd")))
    }
    self.mvpds = mvpds
    isCached = false
    self.expiresAt = expiresAt
  }
}

extension PassMVPD {
  /// The most in one configuration; there are a few hundred. A result is many times as large as the shortest answer.
  fileprivate static let maxCount = 10_000

  fileprivate init(_ reading: PassReading) throws(PassError) {
    guard let id = try reading.identifier("id") else { throw .format("an MVPD has no id") }
    var flags: Set<Flag> = []
    for flag in Flag.allCases where try reading.flag(flag.rawValue) { flags.insert(flag) }
    self.init(
      id: id, displayName: try reading.text("displayName"), logoURL: try reading.text("logoUrl"),
      boardingStatus: try reading.text("boardingStatus"), platformMappingID: try reading.text("platformMappingId"),
      flags: flags)
  }
}
