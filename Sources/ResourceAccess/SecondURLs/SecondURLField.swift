import HTTPMessages
import PosternSupport

/// The request fields whose value names another resource than the request's own URL, which the server reads, writes or
/// links to with the same credential. The one list of them.
///
/// Not in it, though they hold URLs or names: `Referer`, `Origin`, `Link` and `Content-Location` (descriptions; LDP
/// servers take vocabularies from `Link`), `Lock-Token`, `Overwrite`, `Depth`, `Position`, `Slug` and
/// `Ordering-Type` (RFC 3648, 4918, 5023: states and names within the request's own resource),
/// `x-amz-copy-source-range` and the conditions on a source, `x-amz-website-redirect-location` (stored for browsers),
/// and callbacks, which the server sends without the credential. `X-Original-URL`, `X-HTTP-Method-Override` and their
/// like replace the request's own URL or method: `HTTPFieldRules.overridesRequest`.
package enum SecondURLField {
  /// How a field's value names a resource.
  enum Form: Sendable, Hashable {
    /// A URI reference.
    case reference
    /// Lists of conditions, some of which have a URI reference before them.
    case conditions
    /// `bucket/key`, with or without a slash before it, and perhaps a query.
    case object
    /// `host/key`.
    case hostedObject
    /// `container/object`, in the account of the request's URL.
    case accountObject
    /// `container/prefix`, in that account: all objects whose names begin so.
    case accountObjects
    /// Names of a path that the server reads between `/v1/` and the rest of the request's own path.
    case vaultNamespace
    /// A name that means a URL only together with something that is not known here: the bucket of a key, an account.
    case unclear
  }

  private static let forms: [String: Form] = [
    // RFC 4918 section 10.3, with COPY and MOVE; `container/object` where the server is Swift.
    "destination": .reference,
    // RFC 4918 section 10.4: tagged lists.
    "if": .conditions,
    // Subversion, svn_dav.h: the response to a GET is the difference from that version.
    "x-svn-vr-base": .reference,
    // Amazon S3, CopyObject and UploadPartCopy; the XML API of Google Cloud Storage; the CopyObject of Alibaba Cloud
    // OSS, Huawei Cloud OBS, Baidu BOS and Volcengine TOS.
    "x-amz-copy-source": .object, "x-goog-copy-source": .object, "x-oss-copy-source": .object,
    "x-obs-copy-source": .object, "x-bce-copy-source": .object, "x-tos-copy-source": .object,
    // Tencent COS, PUT Object - Copy.
    "x-cos-copy-source": .hostedObject,
    // Azure Storage: Copy Blob and Copy File; Data Lake Gen2, Path - Create; Azure Files, Rename File and Directory.
    "x-ms-copy-source": .reference, "x-ms-rename-source": .reference, "x-ms-file-rename-source": .reference,
    // OpenStack Swift: copies, dynamic large objects, symbolic links.
    "x-copy-from": .accountObject, "x-symlink-target": .accountObject, "x-object-manifest": .accountObjects,
    "x-copy-from-account": .unclear, "destination-account": .unclear, "x-symlink-target-account": .unclear,
    // Keys in the bucket of the request, whose place in the URL differs: Amazon S3 RenameObject, Alibaba Cloud OSS
    // PutSymlink, Baidu BOS RenameObject and PutSymlink, Azure Undelete Blob.
    "x-amz-rename-source": .unclear, "x-oss-symlink-target": .unclear, "x-bce-rename-key": .unclear,
    "x-bce-symlink-target": .unclear, "x-bce-symlink-bucket": .unclear, "x-ms-undelete-source": .unclear,
    // Baidu BOS, FetchObject: any URL.
    "x-bce-fetch-source": .unclear,
    // tus, the extension Concatenation: the uploads of which a final one is made.
    "upload-concat": .unclear,
    // OpenStack Swift: where versions are kept, and where a container is copied to.
    "x-versions-location": .unclear, "x-history-location": .unclear, "x-container-sync-to": .unclear,
    // WOPI, PutRelativeFile: the name of another file; Dropbox: the arguments of the call, paths among them.
    // Vault and OpenBao.
    "x-vault-namespace": .vaultNamespace,
    // Rack and Plack map paths to files by them (CVE-2025-61780, CVE-2026-7381).
    "x-accel-mapping": .unclear, "x-sendfile-type": .unclear,
    "x-wopi-relativetarget": .unclear, "x-wopi-suggestedtarget": .unclear, "dropbox-api-arg": .unclear,
  ]

  /// What the names of such fields end with at servers that are not in the list.
  private static let endings = [
    "-copy-source", "-copy-from", "-copy-to", "-copy-destination", "-move-source", "-move-from", "-move-to",
    "-move-destination", "-rename-source", "-rename-to", "-fetch-source", "-symlink-target",
  ]

  /// How the value of the field `name` names a resource; nil: it names none. Names are compared by
  /// `HTTPFieldRules.canonical(_:)`.
  static func form(of name: String) -> Form? {
    // Nearly no field is one.
    guard let first = name.utf8.first, "diux".utf8.contains(first | 0x20) else { return nil }
    let canonical = HTTPFieldRules.canonical(name)
    if let form = forms[canonical] { return form }
    guard canonical.startsWithBytes(of: "x-") else { return nil }
    return endings.contains { canonical.endsWithBytes(of: $0) } ? .unclear : nil
  }

  /// Whether the value of the field `name` names another resource.
  package static func isOne(_ name: String) -> Bool { form(of: name) != nil }

  /// The names of the list, sorted.
  package static let names: [String] = forms.keys.sorted()
}
