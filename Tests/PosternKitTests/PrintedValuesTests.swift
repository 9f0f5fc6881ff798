import PosternKit
import PosternTestSupport
import Testing

@Suite("Printed values of the façade")
struct PrintedValuesTests {
  @Test("options are printed with a secret of the environment, or a value with an inner name")
  func values() async throws {
    var options = Postern.Options()
    options.environment = ["POSTERN__ISSUERS__corp__CLIENT_SECRET": PrintedValue.secret]
    let folder = try Folder()
    let section: JSONObject = [
      "kind": "adobe-pass", "baseUrl": "https://adobe.test", "serviceProvider": "REF30",
      "softwareStatement": .string(PrintedValue.secret), "deviceIdFile": .string("\(folder.path)/device"),
    ]
    var quiet = Postern.Options()
    (quiet.environment, quiet.transport) = ([:], ScriptedTransport { _, _ in HTTPResponse(status: 404) })
    quiet.storage = PosternEngine.SessionStorage(MemoryRecordStore())
    let postern = try await Postern(
      configuration: ["preauthorization": ["tv": .object(section)]], options: quiet)
    let samples: KeyValuePairs<String, Any> = ["Postern.Options": options, "PosternPass": try postern.pass("tv")]
    for (name, value) in samples { #expect(PrintedValue.faults(of: value) == [], "\(name)") }
  }
}
