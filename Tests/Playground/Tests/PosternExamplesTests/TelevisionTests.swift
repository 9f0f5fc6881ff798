import Foundation
import PlaygroundTestSupport
import PosternKit
import Testing

@testable import PosternExamples

private typealias Lines = Locked<[String]>

extension Lines {
  fileprivate var all: [String] { withLock { $0 } }

  @Sendable fileprivate func add(_ line: String) { withLock { $0.append(line) } }
}

/// The code about television providers in swift.md, in the article and in the migration page, with a double of Adobe
/// Pass.
@Suite("Television providers in the documents")
struct TelevisionTests {
  private let service: ScriptedAdobePass
  private let postern: Postern
  private let clock = ManualClock()
  private let lines = Lines([])

  init() async throws {
    let service = ScriptedAdobePass()
    self.service = service
    let folder = "\(NSTemporaryDirectory())/television-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // The device's id is read when the engine is made.
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let tv: JSONObject = [
      "kind": "adobe-pass", "baseUrl": "https://adobe.test", "serviceProvider": "REF30",
      "softwareStatement": "the-statement", "deviceIdFile": .string("\(folder)/device"),
      "domainNames": ["tv.example.com"], "redirectUrls": ["https://tv.example.com/done"],
    ]
    var options = Postern.Options()
    options.transport = ScriptedTransport { request, _ throws(TransportError) in service.answer(request) }
    options.storage = PosternEngine.SessionStorage(MemoryRecordStore())
    (options.clock, options.environment) = (clock, [:])
    postern = try await Postern(configuration: ["preauthorization": ["tv": .object(tv)]], options: options)
  }

  /// Moves the clock until it is cancelled.
  private func poll() -> Task<Void, Never> {
    let clock = clock
    return Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(5))
        clock.advance(by: .seconds(1))
      }
    }
  }

  @Test("the guide's television and phone do not log in, play and log out")
  func guide() async throws {
    let tv = Television(postern, show: lines.add)
    #expect(try await tv.provider() == nil)
    #expect(await tv.mediaToken(for: "news") == nil)
    #expect(lines.all.count == 1 && lines.all[0].hasPrefix("not possible: "))
    let url = try await tv.activate("QZR7T4") { $0.first?.id }
    #expect(url == "https://adobe.test/api/v2/authenticate/REF30/QZR7T4")
    #expect(lines.all.last == "Log in for the device of type TV")
    let polling = poll()
    #expect(try await tv.logIn() == "Cablevision" && lines.all.last?.contains("QZR7T4") == true)
    polling.cancel()
    #expect(try await tv.provider() == "Cablevision")
    #expect(await tv.mediaToken(for: "news")?.reveal() == "media")
    #expect(await tv.mediaToken(for: "films") == nil && lines.all.last == "Not in the package.")
    let opened = Lines([])
    try await tv.logOut { opened.add($0) }
    #expect(opened.all == ["https://adobe.test/adobe-services/logout"])
    #expect(try await tv.provider() == nil)
  }

  @Test("the migration page's calls have other results than the SDK's callbacks")
  func migration() async throws {
    let opened = Lines([])
    let page = MigrationAdobePassLogins(
      postern: postern, choose: { $0.first?.id }, open: { opened.add($0) }, print: lines.add)
    try await page.checkAuthentication()
    try await page.freePreview()
    #expect(lines.all == ["not logged in", "play news with media"])
    let polling = poll()
    try await page.getAuthentication()
    polling.cancel()
    #expect(lines.all.last == "logged in")
    #expect(opened.all == ["https://adobe.test/api/v2/authenticate/REF30/QZR7T4"])
    try await page.checkAuthentication()
    try await page.checkAuthorization("news")
    try await page.checkAuthorization("films")
    #expect(
      lines.all.suffix(3) == [
        "logged in", "play news with media", "authorization_denied_by_mvpd: Not in the package.",
      ])
    try await page.getMetadata()
    #expect(lines.all.suffix(2).first == "PG-13" && lines.all.last?.hasPrefix("logged in until 2099-") == true)
    try await page.logout()
    #expect(opened.all.last == "https://adobe.test/adobe-services/logout")
  }
}
