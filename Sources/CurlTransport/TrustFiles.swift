/// The files of authorities and client certificates that connections are made with.
final class TrustFiles {
  let identities: IdentityFiles
  let authorities: AuthorityFiles

  init(report: CurlTransport.FileReport?) {
    identities = IdentityFiles(report: report)
    authorities = AuthorityFiles(report: report)
  }
}
