import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import CurlTransport

@Suite("Printed values of the transport")
struct PrintedValuesTests {
  @Test("a value is printed with the proxy's credentials, an inner name or in several lines")
  func values() throws {
    var configuration = CurlTransport.Configuration()
    var proxy = try OutboundProxy("http://proxy.test:3128")
    proxy.authentication = .basic(username: { Secret("user") }, password: { Secret(PrintedValue.secret) })
    configuration.proxy = OutboundProxySetting(proxy)
    let transport = try CurlTransport(configuration: configuration)
    let samples: KeyValuePairs<String, Any> = [
      "CurlTransport": transport, "CurlTransport.Configuration": configuration,
      "CurlTransport.LibraryVersions": CurlTransport.libraryVersions,
      "CurlTransport.Statistics": CurlTransport.Statistics(),
      "CurlTransport.StartError": CurlTransport.StartError("no thread for the transport"),
    ]
    for (name, value) in samples { #expect(PrintedValue.faults(of: value) == [], "\(name)") }
    transport.close()
  }
}
