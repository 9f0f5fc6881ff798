import AuthEngine
package import HTTPMessages
import PosternConfiguration
import PosternSupport
package import Sidecar

/// The check of `postern doctor` at the outbound proxy: it is requested to let a request to an issuer through.
package struct ProxyExamination: Sendable {
  private let transport: any HTTPTransport
  private let report: DoctorReport
  /// The check's number in the report, and the issuer's URL; nil where nothing is checked.
  private let target: (check: Int, url: HTTPURL, options: TransferOptions)?

  /// Announces the check, where there is a proxy.
  package init(
    _ snapshot: ConfigurationSnapshot, _ transport: any HTTPTransport, patience: Duration, _ report: DoctorReport
  ) {
    self.transport = transport
    self.report = report
    guard let proxy = snapshot.values.outboundProxy else {
      target = nil
      return
    }
    let issuers = snapshot.issuers.sorted { $0.key < $1.key }.map(\.value.issuer)
    guard let issuer = issuers.first(where: { !$0.access.bypassesProxy && proxy.route(to: $0.url.origin) == .proxied })
    else {
      report.add(
        "outbound.proxy", tried: "reach an issuer through \(proxy.origin)",
        .skipped("not tried: no issuer is reached through it"))
      target = nil
      return
    }
    let check = report.begin("outbound.proxy", tried: "reach \(issuer.url.origin) through \(proxy.origin)")
    var options = issuer.transferOptions(
      deadline: Deadline(in: patience, on: SystemClock()), maxBodyBytes: 1 << 20, for: .process)
    options.connectTimeout = patience
    target = (check, issuer.url, options)
  }

  package func run() async {
    guard let target else { return }
    do throws(TransportError) {
      _ = try await transport.send(HTTPRequest(method: "GET", url: target.url), options: target.options)
      report.end(target.check, .ok("it lets requests through"))
    } catch {
      report.end(target.check, Self.finding(error))
    }
  }

  /// A fault behind the proxy is found by the issuer's own checks.
  private static func finding(_ error: TransportError) -> DoctorFinding {
    guard let proxy = error.proxy else { return .ok("it lets requests through") }
    let cure =
      switch proxy.status {
      case 407: "outbound.proxy: usernameFile and passwordFile, or auth, must be what the proxy accepts"
      case 403: "the proxy must permit the servers of the configuration"
      case nil where error.code == .tlsFailure: "outbound.proxy.caFile names the authorities to trust for the proxy"
      case nil: "see outbound.proxy.url, DNS and firewalls"
      default: "see the proxy's log"
      }
    return .failed(error.detail, cure: cure)
  }
}
