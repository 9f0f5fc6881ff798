import Playground
import PosternExamples

extension ResourceAccess {
  /// Runs `body` with a playground of its own behind it, and stops that whatever happens.
  static func atPlayground(_ body: (ResourceAccess, _ baseURL: String) async throws -> Void) async throws {
    let playground = try await PlaygroundServer.start()
    do {
      let baseURL = playground.baseURL + "/resource/"
      try await body(ResourceAccess(issuerURL: playground.issuer, baseURL: baseURL), baseURL)
    } catch {
      await playground.stop()
      throw error
    }
    await playground.stop()
  }
}
