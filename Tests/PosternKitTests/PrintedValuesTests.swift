import PosternKit
import PosternTestSupport
import Testing

@Suite("Printed values of the façade")
struct PrintedValuesTests {
  @Test("options are printed with a secret of the environment, or an inner name")
  func values() {
    var options = Postern.Options()
    options.environment = ["POSTERN__ISSUERS__corp__CLIENT_SECRET": PrintedValue.secret]
    let samples: KeyValuePairs<String, Any> = ["Postern.Options": options]
    for (name, value) in samples { #expect(PrintedValue.faults(of: value) == [], "\(name)") }
  }
}
